"""Bound expressions as structures, over columns that are traced to their sources.

Names of functions, letters in capitals and brackets do not matter, nor does the order where it changes nothing in the
value: `a + b` is `b + a`, `a > b` is `b < a`, and terms of AND and OR may change places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlglot import exp

from millstream.catalog.schema import type_name
from millstream.plan.fingerprint.fact import in_order
from millstream.structure import Structure

Columns = Mapping[str, Structure]
"""What columns are, by their names in small letters."""

_TURNED = {exp.GT: exp.LT.key, exp.GTE: exp.LTE.key}
_EITHER_WAY = (exp.EQ, exp.NEQ, exp.Add, exp.Mul)


def structure_of(expression: exp.Expr, columns: Columns, parameters: Columns | None = None) -> Structure:
    """The structure of an expression; inside a lambda there are `parameters`, too.

    >>> from sqlglot import parse_one
    >>> known = {"v": ("column", "s", "v"), "w": ("column", "s", "w")}
    >>> structure_of(parse_one("(V) > 1"), known)
    ('lt', ('number', '1'), ('column', 's', 'v'))
    >>> structure_of(parse_one("v + w"), known) == structure_of(parse_one("w + v"), known)
    True
    """
    match expression:
        case exp.Paren() | exp.Alias():
            return structure_of(expression.this, columns, parameters)
        case exp.Column():
            return columns[expression.name.lower()]
        case exp.Identifier():
            return (parameters or {}).get(expression.name.lower(), ("name", expression.name.lower()))
        case exp.Literal():
            return ("text" if expression.is_string else "number", str(expression.this))
        case exp.DataType():
            return ("type", type_name(expression))
        case exp.Var():
            return ("word", expression.name.upper())
        case exp.And() | exp.Or():
            parts = {structure_of(part, columns, parameters) for part in _terms(expression, type(expression))}
            return (expression.key, *sorted(parts, key=in_order))
        case exp.Lambda():
            return _lambda(expression, columns, parameters or {})
        case exp.Anonymous():
            return (expression.name.lower(), *(structure_of(e, columns, parameters) for e in expression.expressions))
        case exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            left, right = (structure_of(part, columns, parameters) for part in (expression.this, expression.expression))
            turned = _TURNED.get(type(expression))
            return (expression.key, left, right) if turned is None else (turned, right, left)
    if isinstance(expression, _EITHER_WAY):
        sides = (structure_of(part, columns, parameters) for part in (expression.this, expression.expression))
        return (expression.key, *sorted(sides, key=in_order))
    said = [(name, _argument(value, columns, parameters)) for name, value in sorted(expression.args.items())]
    return (expression.key, *((name, value) for name, value in said if value is not None and value != ()))


def _argument(value: Any, columns: Columns, parameters: Columns | None) -> Structure:
    if isinstance(value, list):
        return tuple(_argument(part, columns, parameters) for part in value)
    if isinstance(value, exp.Expr):
        return structure_of(value, columns, parameters)
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _terms(expression: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """What AND joins, or OR, in whatever brackets."""
    inner = expression.unnest()
    if isinstance(inner, kind):
        yield from _terms(inner.this, kind)
        yield from _terms(inner.expression, kind)
    else:
        yield expression


def _lambda(expression: exp.Lambda, columns: Columns, parameters: Columns) -> Structure:
    """Parameters are told apart by their places: what they are called does not matter."""
    names = [parameter.name.lower() for parameter in expression.expressions]
    given = {name: ("parameter", len(parameters) + place) for place, name in enumerate(names)}
    return ("lambda", len(names), structure_of(expression.this, columns, {**parameters, **given}))
