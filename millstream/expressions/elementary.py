"""Trees as evaluators take them: said in functions that have forms, and what can be known beforehand worked out."""

from __future__ import annotations

from millstream.expressions.functions.registry import FUNCTIONS
from millstream.expressions.reading import children, over_children
from millstream.expressions.tree import Call, Literal, Value


def elementary(value: Value) -> Value:
    """The same value in functions that mean no others; calls of literals alone are their values.

    >>> from millstream.expressions.tree import INT32, Column
    >>> sum_ = Call("add_int32", (Literal(1, INT32), Literal(2, INT32)), INT32)
    >>> elementary(Call("mul_int32", (Column("x", INT32), sum_), INT32)).arguments[1].value
    3
    """
    parts = children(value)
    found = [elementary(part) for part in parts]
    if any(new is not old for new, old in zip(found, parts, strict=True)):
        value = over_children(value, found)
    if not isinstance(value, Call):
        return value
    function = FUNCTIONS[value.function]
    if function.means is not None:
        return elementary(function.means(value))
    if function.python is None or not all(isinstance(argument, Literal) for argument in value.arguments):
        return value
    literals = [argument.value for argument in value.arguments if isinstance(argument, Literal)]
    if function.varies is not None and None not in literals and function.varies(*literals):
        return value
    return Literal(function.python(*literals), value.type)


def known(value: Value) -> Literal | None:
    """The literal that a value is worth before any row is seen; None if it takes a row to know."""
    found = elementary(value)
    return found if isinstance(found, Literal) else None
