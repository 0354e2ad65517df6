"""Calls of functions; of literals alone, their values."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.expressions.functions.registry import FUNCTIONS
from millstream.expressions.tree import INT32, Call, Literal, Type, Value


def call(function: str, arguments: Sequence[Value], type_: Type) -> Value:
    """A call; of literals alone, its value.

    >>> call("add_int32", [number(1), number(2)], INT32)
    Literal(value=3, type=Type(name='int32', precision=0, scale=0, element=None))
    """
    literals = [a.value for a in arguments if isinstance(a, Literal)]
    python = FUNCTIONS[function].python
    if len(literals) == len(arguments) and python is not None:
        return Literal(python(*literals), type_)
    return Call(function, tuple(arguments), type_)


def number(value: int) -> Literal:
    """A whole number as an argument."""
    return Literal(value, INT32)
