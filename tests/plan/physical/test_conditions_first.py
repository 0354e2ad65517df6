"""Conditions that are checked early: the same tuples, with fewer of them on the way."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.catalog.schema import sql_type
from millstream.expressions.arrow.steps import ArrowExpression, ColumnOf, Whole
from millstream.expressions.compile.arrow import arrow_condition
from millstream.operators.tuples.lazy_rows import LazyRows
from millstream.operators.tuples.row_steps import Compute, Keep, Lookup, Step
from millstream.plan.physical.conditions_first import conditions_first
from millstream.windows.join_kind import JoinKind
from tests.expressions.drawn_conditions import tree

WORN = pa.schema([("w", pa.int64()), ("number", pa.int64())])
PLAY = pa.schema([("second", pa.int64()), ("half", pa.int64())])
TYPES = {name: sql_type("bigint") for name in ("sid", "time", "x", "w", "number", "second", "half")}

numbers = st.none() | st.integers(0, 3)
triples = st.lists(st.tuples(numbers, numbers, numbers), max_size=12)
couples = st.lists(st.tuples(numbers, numbers), max_size=4)


def condition(text: str) -> ArrowExpression:
    return arrow_condition(tree(text, TYPES))


def column(name: str) -> ArrowExpression:
    return Whole(ColumnOf(name, pa.int64()))


def copies(*names: str) -> Compute:
    return Compute(tuple((name, column(name), pa.int64()) for name in names))


def way(kind: JoinKind, where: str) -> tuple[Step, ...]:
    """Two joins, and a WHERE behind them."""
    worn = Lookup(0, JoinKind.INNER, ((column("sid"), column("w")),), None)
    play = Lookup(1, kind, ((column("time"), column("second")),), condition("x < half") if kind.paired else None)
    return (worn, copies("time", "x", "number"), play, copies("time", "x", "number"), Keep((condition(where),)))


def rows(schema: pa.Schema, values: list[tuple[int | None, ...]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in values], schema)


def passed(steps: tuple[Step, ...], tuples: pa.Table, tables: list[pa.Table]) -> list[dict[str, int | None]]:
    found = LazyRows.of(tuples)
    for step in steps:
        found = step(found, tables)
    return found.table().to_pylist()


@pytest.mark.parametrize("kind", [JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI])
@given(tuples=triples, worn=couples, play=couples)
def test_the_same_tuples_pass(
    kind: JoinKind,
    tuples: list[tuple[int | None, ...]],
    worn: list[tuple[int | None, ...]],
    play: list[tuple[int | None, ...]],
) -> None:
    schema = pa.schema([(name, pa.int64()) for name in ("sid", "time", "x")])
    tables = [rows(WORN, worn), rows(PLAY, play)]
    steps = way(kind, "number > 0 AND x >= 1 AND (x > number OR time = 2)")
    wanted = passed(steps, rows(schema, tuples), tables)
    assert passed(conditions_first(steps, [WORN, PLAY]), rows(schema, tuples), tables) == wanted


def test_conditions_move_as_far_as_they_can() -> None:
    steps = conditions_first(way(JoinKind.LEFT, "number > 0 AND x >= 1 AND x > number"), [WORN, PLAY])
    assert [type(step).__name__ for step in steps] == ["Keep", "Lookup", "Compute", "Keep", "Lookup", "Compute"]
    lookup = steps[1]
    assert isinstance(lookup, Lookup)
    assert len(lookup.conditions) == 1


def test_a_condition_on_what_an_outer_join_found_stays_behind_it() -> None:
    behind = (*way(JoinKind.LEFT, "x >= 1")[:3], Keep((condition("half IS NULL"),)))
    assert conditions_first(behind, [WORN, PLAY]) == behind
