"""Bodies that only add up: whatever order tuples come in and however they are cut into parts, the sums are the same.

A body is linear if each column of its one-row tables either never changes, or is what INITIALIZE gave for the first
tuple plus the same expression of each other tuple; and what it returns is computed from these sums. Nothing of that
is declared: it is read off the text. Such an aggregate is computed as the built-in sums are, by panes and deltas.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from millstream.expressions.tree import Call, Case, Literal, Value
from millstream.udas.body import (
    INWINDOW,
    Action,
    Body,
    ColumnOf,
    Exists,
    InsertQuery,
    InsertRows,
    Parameter,
    ScalarQuery,
    Update,
    returns,
    walk,
)
from millstream.udas.kernels.source import has_kernel
from millstream.udas.kernels.values import conditions

Column = tuple[str, int]
"""A table, and the number of a column of it."""


@dataclass(frozen=True)
class Row:
    """What is returned, and the conditions under which."""

    items: tuple[Value, ...]
    conditions: tuple[Value, ...]


@dataclass(frozen=True)
class Linear:
    """A body that adds up: for each column what it adds up, or what it always is; and what is returned.

    `first` is returned instead of `row` where only one tuple has come, None for nothing.
    """

    sums: dict[Column, Value]
    constants: dict[Column, Literal]
    row: Row
    first: Row | None


def linear(body: Body) -> Linear | None:
    """What a body adds up, None if it does something else."""
    if not has_kernel(body):
        return None
    added = _added(body)
    if added is None:
        return None
    begun = _begun(body)
    sums: dict[Column, Value] = {}
    constants: dict[Column, Literal] = {}
    for table in body.tables:
        for index in range(len(table.columns) if table.name != INWINDOW else 0):
            column = (table.name, index)
            first = begun.get(column)
            if column not in added:
                if not isinstance(first, Literal):
                    return None
                constants[column] = first
            elif (first != added[column] and not body.shared) or (body.shared and not _is_zero(first)):
                return None
            else:
                sums[column] = added[column]
    rows = _rows(body, sums)
    return None if rows is None else Linear(sums, constants, *rows)


def _added(body: Body) -> dict[Column, Value] | None:
    """What ITERATE adds to each column that it changes."""
    found: dict[Column, Value] = {}
    returned = False
    for action in body.iterate:
        returned = returned or returns(action)
        if returns(action):
            continue
        if not isinstance(action, Update) or returned:
            return None
        if action.where is not None and (_looks_at_state(action.where) or not body.shared):
            return None
        for index, value in zip(action.columns, action.values, strict=True):
            term = _term(value, action.source.number, index)
            if term is None or (action.table, index) in found:
                return None
            zero = Literal(0, term.type)
            found[action.table, index] = (
                term if action.where is None else Case(((action.where, term),), zero, term.type)
            )
    return found


def _term(value: Value, source: int, index: int) -> Value | None:
    """What is added to the column itself."""
    if not isinstance(value, Call) or not value.function.startswith("add_") or value.type.name not in value.function:
        return None
    left, right = value.arguments
    if not _is_column(left, source, index):
        left, right = right, left
    return right if _is_column(left, source, index) and not _looks_at_state(right) else None


def _is_column(value: Value, source: int, index: int) -> bool:
    return isinstance(value, ColumnOf) and (value.source, value.index) == (source, index)


def _looks_at_state(value: Value) -> bool:
    return any(isinstance(node, ColumnOf | ScalarQuery | Exists) for node in walk(value))


def _begun(body: Body) -> dict[Column, Value]:
    """The first value of each column that has one."""
    found: dict[Column, Value] = {
        (table.name, i): value for table in body.tables if table.rows for i, value in enumerate(table.rows[0])
    }
    if body.shared:
        return found
    for action in body.initialize:
        if isinstance(action, InsertRows) and action.table is not None:
            found.update({(action.table, i): value for i, value in enumerate(action.rows[0])})
        elif not returns(action):
            return {}
    return found


def _is_zero(value: Value | None) -> bool:
    return isinstance(value, Literal) and value.value is not None and value.value == 0


def _rows(body: Body, sums: dict[Column, Value]) -> tuple[Row, Row | None] | None:
    """What is returned after many tuples, and after one."""
    if body.blocking:
        if len(body.terminate) > 1:
            return None
        row = _row(body.terminate[0])
        return row, row
    later = [_row(action) for action in body.iterate if returns(action)]
    if not later or any(isinstance(n, Parameter) for n in walk((later[0].items, later[0].conditions))):
        return None
    if body.shared:
        return later[0], later[0]
    at_once = [_row(action) for action in body.initialize if returns(action)]
    if body.initialize and at_once and not returns(body.initialize[-1]):
        return None
    if not at_once:
        return later[0], None
    first = _over_sums(at_once[0], dict(_first_values(body, sums)))
    return None if first is None else (later[0], first)


def _row(action: Action) -> Row:
    match action:
        case InsertRows(rows=(items,), where=where):
            return Row(items, () if where is None else (where,))
        case InsertQuery(query=query):
            return Row(query.items, tuple(conditions(query)))
    raise TypeError(type(action))


def _first_values(body: Body, sums: dict[Column, Value]) -> Iterator[tuple[Value, ColumnOf]]:
    """After the first tuple a sum is what is added: the columns that can stand for such a value."""
    for action in body.iterate:
        if isinstance(action, Update):
            table = body.table(action.table)
            for index in action.columns:
                if table is not None and (action.table, index) in sums:
                    column = table.columns[index]
                    yield sums[action.table, index], ColumnOf(action.source.number, index, column.name, column.type)


def _over_sums(row: Row, stands_for: dict[Value, ColumnOf]) -> Row | None:
    """A row without parameters, None if one is left."""
    row = replace(row, items=_replaced(row.items, stands_for), conditions=_replaced(row.conditions, stands_for))
    return None if any(isinstance(n, Parameter) for n in walk((row.items, row.conditions))) else row


def _replaced(node: Any, stands_for: dict[Value, ColumnOf]) -> Any:
    if isinstance(node, tuple):
        return tuple(_replaced(part, stands_for) for part in node)
    if isinstance(node, Parameter):
        found = stands_for.get(node)
        return found if found is not None and found.type == node.type else node
    if is_dataclass(node) and not isinstance(node, type):
        changed = {f.name: _replaced(getattr(node, f.name), stands_for) for f in fields(node)}
        return replace(node, **changed)
    return node
