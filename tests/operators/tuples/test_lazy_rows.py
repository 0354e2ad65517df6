"""Rows whose columns are gathered late: what a table that is gathered at once holds, and nothing computed twice."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.expressions.arrow.steps import Applied, ArrowExpression, ColumnOf, Whole
from millstream.operators.tuples.lazy_rows import LazyRows

TUPLES = pa.table({"a": [1, 2, 3, 4], "s": ["w", None, "y", "z"]})
TABLE = pa.table({"b": pa.array([10, 20, None])})


class Counted:
    """Doubles numbers, and keeps how many it was given."""

    def __init__(self) -> None:
        self.given: list[int] = []

    def __call__(self, column: pa.Array) -> pa.Array:
        self.given.append(len(column))
        return pc.multiply(column, 2)


def doubled(name: str, counted: Counted) -> tuple[str, ArrowExpression, pa.DataType]:
    return ("twice", Whole(Applied(counted, (ColumnOf(name, None),))), pa.int64())


def test_choices_of_rows_follow_each_other() -> None:
    rows = LazyRows.of(pa.concat_tables([TUPLES.slice(0, 1), TUPLES.slice(1)]))
    rows = rows.filter(pa.array([True, False, True, True])).beside(TABLE, np.array([2, 0, 1]))
    rows = rows.taken(np.array([2, 0, 0]))
    assert rows.num_rows == 3
    assert rows.column_names == ["a", "s", "b"]
    assert rows.table().to_pylist() == [
        {"a": 4, "s": "z", "b": 20},
        {"a": 1, "s": "w", "b": None},
        {"a": 1, "s": "w", "b": None},
    ]


def test_a_column_is_computed_for_the_rows_that_are_left_and_only_once() -> None:
    counted = Counted()
    rows = LazyRows.of(TUPLES).computed([doubled("a", counted)], beside=True)
    rows = rows.filter(pa.array([True, False, False, True]))
    assert counted.given == []
    assert rows["twice"].to_pylist() == rows["twice"].to_pylist() == [2, 8]
    assert rows.taken(np.array([1]))["twice"].to_pylist() == [8]
    assert counted.given == [2]


def test_a_column_of_a_small_table_is_computed_for_its_rows() -> None:
    counted = Counted()
    rows = LazyRows.of(TUPLES).beside(TABLE.slice(0, 2), np.array([1, 0, 1, 1])).computed([doubled("b", counted)])
    assert rows.column_names == ["twice"]
    assert rows["twice"].to_pylist() == [40, 20, 40, 40]
    assert rows.taken(np.array([1, 3, 2]))["twice"].to_pylist() == [20, 40, 40]
    assert counted.given == [2]


def test_a_new_column_may_have_the_name_of_another() -> None:
    swapped = [(new, Whole(ColumnOf(old, None)), TUPLES[old].type) for new, old in (("a", "s"), ("s", "a"))]
    rows = LazyRows.of(TUPLES).computed(swapped).taken(np.array([3]))
    assert rows.table().to_pylist() == [{"a": "z", "s": 4}]


def test_columns_get_the_types_that_are_declared() -> None:
    rows = LazyRows.of(TUPLES).computed([("a", Whole(ColumnOf("a", None)), pa.int32())])
    assert rows["a"].type == pa.int32()
