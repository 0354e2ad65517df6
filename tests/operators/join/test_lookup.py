"""Joins with a table that is at hand, against two loops."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.expressions.compile.arrow import arrow_condition
from millstream.expressions.tree import BOOL, INT64, Call, Column
from millstream.operators.join.lookup import looked_up
from millstream.operators.tuples.lazy_rows import LazyRows
from millstream.windows.join_kind import JoinKind
from tests.drawing import drawn

KINDS = [JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI]
OURS = pa.schema([("i", pa.int64()), ("s", pa.string()), ("low", pa.int64()), ("at", pa.int64())])
THEIRS = pa.schema([("t.i", pa.int64()), ("t.s", pa.string()), ("high", pa.int64()), ("number", pa.int64())])
INSIDE = arrow_condition(Call("lt", (Column("low", INT64), Column("high", INT64)), BOOL))

Row = dict[str, object]


def table(schema: pa.Schema, rows: list[tuple[object, ...]], cuts: list[int] | None = None) -> pa.Table:
    """Rows with a number behind them, which shows their order; cut into chunks."""
    numbered = [dict(zip(schema.names, (*row, at), strict=True)) for at, row in enumerate(rows)]
    whole = pa.Table.from_pylist(numbered, schema)
    ends = [0, *sorted(min(c, len(rows)) for c in cuts or []), len(rows)]
    parts = [whole.slice(a, b - a) for a, b in pairwise(ends)]
    return pa.concat_tables(parts)


def equal(a: object, b: object) -> bool:
    return a is not None and a == b


def by_loops(tuples: list[Row], rows: list[Row], keys: list[str], inside: bool, kind: JoinKind) -> list[Row]:
    def matches(one: Row, other: Row) -> bool:
        low, high = one["low"], other["high"]
        holds = isinstance(low, int) and isinstance(high, int) and low < high
        return all(equal(one[k], other[f"t.{k}"]) for k in keys) and (holds or not inside)

    answers = []
    for one in tuples:
        found = [row for row in rows if matches(one, row)]
        if kind.paired:
            answers += [{**one, **row} for row in found]
        elif bool(found) == (kind is JoinKind.SEMI):
            answers.append(one)
        if kind is JoinKind.LEFT and not found:
            answers.append({**one, **dict.fromkeys(THEIRS.names)})
    return answers


integers = st.none() | st.integers(-1, 2) | st.sampled_from([2**63 - 1, -(2**63)])
texts = st.none() | st.sampled_from(["", "a", "b", "é"])
rows_of = st.lists(st.tuples(integers, texts, st.none() | st.integers(0, 3)), max_size=12)
cuts_of = st.lists(st.integers(0, 12), max_size=2)


@pytest.mark.parametrize("kind", KINDS)
@drawn(120)
@given(
    ours=rows_of,
    theirs=rows_of,
    keys=st.sampled_from([["i"], ["s"], ["i", "s"], ["s", "i"]]),
    inside=st.booleans(),
    cuts=cuts_of,
)
def test_what_two_loops_find(
    kind: JoinKind,
    ours: list[tuple[object, ...]],
    theirs: list[tuple[object, ...]],
    keys: list[str],
    inside: bool,
    cuts: list[int],
) -> None:
    tuples, rows = table(OURS, ours, cuts), table(THEIRS, theirs)
    sides = [tuples[k].combine_chunks() for k in keys], [rows[f"t.{k}"].combine_chunks() for k in keys]
    found = looked_up(LazyRows.of(tuples), rows, sides, INSIDE if inside else None, kind).table()
    assert found.to_pylist() == by_loops(tuples.to_pylist(), rows.to_pylist(), keys, inside, kind)
    assert found.schema.types == (OURS.types + THEIRS.types if kind.paired else OURS.types)


@pytest.mark.parametrize(("kind", "count"), [(JoinKind.INNER, 0), (JoinKind.LEFT, 2), (JoinKind.SEMI, 0)])
def test_the_table_is_empty(kind: JoinKind, count: int) -> None:
    tuples, rows = table(OURS, [(1, "a", 0), (None, None, None)]), table(THEIRS, [])
    sides = [tuples["i"].combine_chunks()], [rows["t.i"].combine_chunks()]
    found = looked_up(LazyRows.of(tuples), rows, sides, INSIDE, kind).table()
    assert found.num_rows == count
    assert found.column_names == (OURS.names + THEIRS.names if kind.paired else OURS.names)


def test_a_condition_that_is_null_does_not_hold() -> None:
    tuples, rows = table(OURS, [(1, "a", None)]), table(THEIRS, [(1, "a", 5)])
    sides = [tuples["i"].combine_chunks()], [rows["t.i"].combine_chunks()]
    found = looked_up(
        LazyRows.of(tuples), rows, sides, lambda pairs: pc.less(pairs["low"].combine_chunks(), 9), JoinKind.LEFT
    ).table()
    assert found["number"].to_pylist() == [None]


def test_many_keys_of_many_values_are_told_apart() -> None:
    count = 70_000  # to the fourth power it is more than 64 bits can count
    values = pa.array(np.arange(count))
    tuples, rows = pa.table({"a": values}), pa.table({"b": values})
    found = looked_up(LazyRows.of(tuples), rows, ([values] * 4, [values] * 4), None, JoinKind.INNER).table()
    assert found.num_rows == count
    assert found["a"].equals(found["b"])
