"""Bodies as structures: what an author may rename or turn around is the same, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

from millstream.catalog.definitions import UserAggregate
from millstream.expressions.tree import Call, Literal
from millstream.structure import from_json
from millstream.udas.body import Body, ColumnOf, Delete, InsertRows, LocalTable, Parameter, TableQuery, Update
from millstream.udas.python.aggregate import PyAggregate
from millstream.udas.sql_aggregate import SqlAggregate, Versions
from millstream.udas.structure import structure_of
from tests.udas.making import defined

BODY = """
CREATE AGGREGATE most (n INT, w DOUBLE) : (low INT, many INT) {
  TABLE seen (low INT, many INT, total DOUBLE);
  INITIALIZE: { INSERT INTO seen VALUES (n, 1, w); }
  ITERATE: { UPDATE seen SET low = n WHERE n < low AND w > 1;
             UPDATE seen SET many = many + 1, total = total + w * 2; DELETE FROM seen WHERE total = 7; }
  TERMINATE: { INSERT INTO RETURN SELECT low, many FROM seen WHERE many > 1 ORDER BY low LIMIT 3; }
};
"""
SAME = {
    "names": [("n INT", "x INT"), ("(n, 1", "(x, 1"), ("low = n WHERE n <", "low = x WHERE x <")],
    "the table": [("seen", "kept")],
    "columns": [("total", "sum_of_all")],
    "the name of the aggregate": [("most", "least_of")],
    "the names of the result": [("(low INT, many INT) {", "(a INT, b INT) {")],
    "a sum": [("many + 1", "1 + many"), ("total + w * 2", "2 * w + total")],
    "a comparison": [("n < low", "low > n")],
    "AND": [("n < low AND w > 1", "w > 1 AND n < low")],
    "layout": [("INSERT INTO seen VALUES", "insert   into SEEN values")],
}
OTHERS = {
    "a constant": [("total = 7", "total = 8")],
    "an operation": [("many + 1", "many - 1")],
    "an order": [("ORDER BY low", "ORDER BY low DESC")],
    "a limit": [("LIMIT 3", "LIMIT 4")],
    "a comparison": [("n < low", "n <= low")],
    "what is returned": [("SELECT low, many", "SELECT many, low")],
    "a type": [("total DOUBLE", "total FLOAT")],
    "a difference turned": [("many + 1", "many - low")],
    "the operands of a difference": [("many + 1", "low - many")],
    "a statement": [(" DELETE FROM seen WHERE total = 7;", "")],
    "their order": [("TABLE seen (low INT, many INT, ", "TABLE seen (many INT, low INT, "), ("(n, 1, w)", "(1, n, w)")],
}


def body(*edits: tuple[str, str]) -> Body:
    text = BODY
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    made = defined(text).definition
    assert isinstance(made, UserAggregate)
    return made.body


@pytest.mark.parametrize("edits", SAME.values(), ids=list(SAME))
def test_the_same(edits: list[tuple[str, str]]) -> None:
    assert structure_of(body(*edits)) == structure_of(body())


def test_everything_else_differs() -> None:
    found = [structure_of(body(*edits)) for edits in OTHERS.values()] + [structure_of(body())]
    assert len(set(found)) == len(found)


def test_every_single_change_of_a_body_differs() -> None:
    whole = body()
    mutants = [replaced(whole, node, other) for node in nodes(whole) for other in changed(node)]
    assert len(mutants) > 50
    assert structure_of(whole) not in [structure_of(mutant) for mutant in mutants]


def test_it_survives_as_json() -> None:
    structure = structure_of(body())
    assert from_json(json.loads(json.dumps(structure))) == structure
    assert structure_of(None) is None


def nodes(node: Any) -> Iterator[Any]:
    """Every node of a body."""
    if isinstance(node, tuple):
        for part in node:
            yield from nodes(part)
    elif is_dataclass(node) and not isinstance(node, type):
        yield node
        for field in fields(node):
            yield from nodes(getattr(node, field.name))


def changed(node: Any) -> Iterator[Any]:
    """The same with one thing in it that is not the same."""
    match node:
        case Literal(value=value) if isinstance(value, int | float):
            yield replace(node, value=value + 1)
        case Call():
            yield replace(node, function=f"{node.function}_")
            yield replace(node, arguments=node.arguments[1:])
        case Parameter() | ColumnOf():
            yield replace(node, index=node.index + 1)
        case InsertRows():
            yield replace(node, table=None if node.table else "seen")
            yield replace(node, rows=())
        case Update():
            yield replace(node, columns=tuple(column + 1 for column in node.columns))
            if node.where is not None:
                yield replace(node, where=None)
        case Delete():
            yield replace(node, where=None)
        case TableQuery():
            yield replace(node, distinct=not node.distinct)
            yield replace(node, limit=(node.limit or 0) + 1)
            yield replace(node, items=node.items[::-1])
        case LocalTable():
            yield replace(node, columns=node.columns[::-1][:-1])
        case Body():
            for part in ("initialize", "iterate", "terminate"):
                yield replace(node, **{part: ()})
            for part in ("window", "algebraic", "shared"):
                yield replace(node, **{part: not getattr(node, part)})


def replaced(node: Any, old: Any, new: Any) -> Any:
    """The node with one of its nodes, which is there as this very object, in place of another."""
    if node is old:
        return new
    if isinstance(node, tuple):
        return tuple(replaced(part, old, new) for part in node)
    if is_dataclass(node) and not isinstance(node, type):
        return replace(node, **{f.name: replaced(getattr(node, f.name), old, new) for f in fields(node)})
    return node


# -- as aggregates say it ------------------------------------------------------------------------------------


def test_both_versions_count() -> None:
    base = body()
    alone, other = SqlAggregate(Versions(base, None)), SqlAggregate(Versions(None, replace(base, window=True)))
    assert alone.definition != other.definition
    assert alone.definition == SqlAggregate(Versions(body(*SAME["a sum"]), None)).definition


class Total:
    """A struct."""

    state = {"total": float}  # noqa: RUF012

    def zero(self) -> dict[str, float]:
        return {"total": 0.0}


class WithNulls(Total):
    nulls = True


class WithCount(Total):
    state = {"total": float, "count": int}  # noqa: RUF012


class Free(Total):
    state = None


def test_classes_are_told_apart_by_their_places_their_fields_and_what_they_see() -> None:
    def definition(cls: type) -> Any:
        return PyAggregate("t", cls, [pa.float64()], (("x", pa.float64()),)).definition

    def moved(cls: type) -> type:
        return type("Total", (cls,), {"__module__": Total.__module__, "__qualname__": "Total"})

    assert definition(Total) == definition(moved(Total))
    changed_ones = [definition(cls) for cls in (Total, moved(WithNulls), moved(WithCount), moved(Free), WithNulls)]
    assert len(set(changed_ones)) == len(changed_ones)
    assert from_json(json.loads(json.dumps(changed_ones[0]))) == changed_ones[0]
