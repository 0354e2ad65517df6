"""Bound expressions as structures, over columns that are traced to their sources.

Names of functions, letters in capitals and brackets do not matter, nor does the order where it changes nothing in the
value: `a + b` is `b + a`, `a > b` is `b < a`, and terms of AND and OR may change places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from millstream.expressions import tree
from millstream.expressions.functions.registry import FUNCTIONS
from millstream.expressions.written import type_text
from millstream.plan.fingerprint.fact import in_order
from millstream.structure import Structure

Columns = Mapping[str, Structure]
"""What columns are, by their names in small letters."""

_TURNED = {"gt": "<", "ge": "<="}
_EITHER_WAY = {"=", "<>", "+", "*"}


def structure_of(value: tree.Value, columns: Columns, parameters: Columns | None = None) -> Structure:
    """The structure of an expression; inside a function without a name there are `parameters`, too.

    >>> known = {"v": ("column", "s", "v"), "w": ("column", "s", "w")}
    >>> v, w, one = tree.Column("V", tree.INT32), tree.Column("w", tree.INT32), tree.Literal(1, tree.INT32)
    >>> structure_of(tree.Call("gt", (v, one), tree.BOOL), known)
    ('function', '<', ('int32', '1'), ('column', 's', 'v'))
    >>> one, other = (tree.Call("add_int32", sides, tree.INT32) for sides in ((v, w), (w, v)))
    >>> structure_of(one, known) == structure_of(other, known)
    True
    """
    match value:
        case tree.Column(name=name):
            return columns[name.lower()]
        case tree.Parameter(name=name):
            return (parameters or {}).get(name.lower(), ("name", name.lower()))
        case tree.Literal():
            return (str(value.type), str(value.value))
        case tree.Call():
            return _call(value, columns, parameters)
        case tree.Case(branches=branches, default=default):
            parts = (*(part for branch in branches for part in branch), default)
            return ("case", *(structure_of(part, columns, parameters) for part in parts))
        case tree.Lambda():
            return _lambda(value, columns, parameters or {})
        case tree.OnlySpark(name=name, form=form):
            arguments = (structure_of(part, columns, parameters) for part in value.arguments)
            return ("spark", name, *([form] if form else []), *arguments)
    raise TypeError(f"{type(value).__name__} has no structure")


def _call(value: tree.Call, columns: Columns, parameters: Columns | None) -> Structure:
    if value.unwritten:  # what is made of it follows from its type
        return structure_of(value.arguments[0], columns, parameters)
    if value.function in {"and", "or"}:
        terms = {structure_of(part, columns, parameters) for part in _terms(value, value.function)}
        return (value.function, *sorted(terms, key=in_order))
    function = FUNCTIONS[value.function]
    parts = [structure_of(part, columns, parameters) for part in function.said(value)]
    name = function.words.name
    if value.function in _TURNED:
        return ("function", _TURNED[value.function], *reversed(parts))
    if name in _EITHER_WAY:
        parts.sort(key=in_order)
    return ("function", name.lower(), *([type_text(value.type)] if function.words.typed else []), *parts)


def _terms(value: tree.Value, function: str) -> Iterator[tree.Value]:
    """What AND joins, or OR, in whatever brackets."""
    if isinstance(value, tree.Call) and value.function == function:
        for part in value.arguments:
            yield from _terms(part, function)
    else:
        yield value


def _lambda(value: tree.Lambda, columns: Columns, parameters: Columns) -> Structure:
    """Parameters are told apart by their places: what they are called does not matter."""
    given = {name.lower(): ("parameter", len(parameters) + place) for place, name in enumerate(value.parameters)}
    return ("lambda", len(value.parameters), structure_of(value.body, columns, {**parameters, **given}))
