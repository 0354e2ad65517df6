"""Calls as builders make them."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.expressions.tree import INT32, NULL, Call, Literal, Type, Value


def call(function: str, arguments: Sequence[Value], type_: Type) -> Call:
    """A call of a function by its name in the registry."""
    return Call(function, tuple(arguments), type_)


def unwritten(function: str, arguments: Sequence[Value], type_: Type) -> Call:
    """A call for which SQL has no word."""
    return Call(function, tuple(arguments), type_, unwritten=True)


def number(value: int) -> Literal:
    """A whole number as an argument."""
    return Literal(value, INT32)


def null(type_: Type) -> Value:
    """NULL where values of a type are."""
    return unwritten("null_as", [Literal(None, NULL)], type_)
