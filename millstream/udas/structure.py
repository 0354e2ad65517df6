"""Bodies as structures: what they compute, without the names that their authors chose.

Equal bodies compute the same from the same tuples, bit for bit. So `a + b` is `b + a`, and `a > b` is `b < a`; but
`a + (b + c)` is not `(a + b) + c`, which may overflow or round elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

from millstream.expressions.tree import Call, Type
from millstream.structure import Structure
from millstream.udas.body import (
    Body,
    CatalogTable,
    ColumnOf,
    Delete,
    Field,
    InsertQuery,
    InsertRows,
    LocalTable,
    Parameter,
    Source,
    Update,
)

_EITHER_WAY = ("add_int", "add_float", "add_decimal", "mul_int", "mul_float", "mul_decimal")
"""How the names of functions begin whose two arguments may change places."""

_SYMMETRIC = frozenset(["eq", "ne", "and", "or"])
_TURNED = {"gt": "lt", "ge": "le"}
_UNSAID = {Parameter: "name", ColumnOf: "name", Source: "name", Field: "name", LocalTable: "name", Body: "name"}
"""The names that stand for nothing but themselves: numbers and places tell things apart."""


def structure_of(body: Body | None) -> Structure:
    """The structure of a body; None if there is none."""
    return None if body is None else _structure(body, {})


def _structure(node: Any, tables: Mapping[str, Structure]) -> Structure:
    match node:
        case tuple():
            return tuple(_structure(part, tables) for part in node)
        case Type():
            return str(node)
        case Body():
            tables = {table.name: ("table", place) for place, table in enumerate(node.tables)}
        case CatalogTable():
            return ("catalog", node.name, _structure(node.columns, tables))
        case Call():
            return _called(node, tables)
        case Decimal() | float():
            return repr(node)
    if not is_dataclass(node):
        plain: Structure = node
        return plain
    unsaid = _UNSAID.get(type(node))
    said = [(known.name, getattr(node, known.name)) for known in fields(node) if known.name != unsaid]
    return (type(node).__name__, *(_field(node, name, value, tables) for name, value in said))


def _field(node: Any, name: str, value: Any, tables: Mapping[str, Structure]) -> Structure:
    """A field of a node, where some are names of local tables."""
    local = (name == "relation" and isinstance(node, Source)) or (
        name == "table" and isinstance(node, InsertRows | InsertQuery | Update | Delete)
    )
    if local and isinstance(value, str):
        return tables.get(value, value)
    return _structure(value, tables)


def _called(call: Call, tables: Mapping[str, Structure]) -> Structure:
    name, arguments = call.function, [_structure(argument, tables) for argument in call.arguments]
    if name in _TURNED:
        name, arguments = _TURNED[name], arguments[::-1]
    if len(arguments) == 2 and (name in _SYMMETRIC or name.startswith(_EITHER_WAY)):
        arguments.sort(key=json.dumps)
    return ("Call", name, *arguments, str(call.type))
