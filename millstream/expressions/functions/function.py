"""What a function of the language is: its signature, and its form for each evaluator.

Whoever computes with rows of Python calls the Python form, which takes None for NULL. Kernels call a form that numba
compiles: for each argument it takes a value and whether that is NULL, whose value is then any, and it gives both. Such
forms are functions of Python too, so that they are tested beside the others.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millstream.expressions.tree import Type

Maybe = Any
"""A value, or None for NULL: its type is known to whoever made the call."""

Number = Any
"""A number or a truth of a type that numba has."""

Result = tuple[Number, bool]
"""A value, and whether it is NULL."""

ANY, WHOLE, DECIMAL, SAME, DIGITS = map(Type, ["any", "whole", "decimal", "same", "digits"])
"""In signatures: any type, a whole number or a decimal of any size, the type of the first argument; and a literal that
says the size of the result: its bits, or its precision and scale."""


@dataclass(frozen=True)
class Function:
    """A function of values that have its types already. It has no form where an evaluator cannot compute it.

    `sql` are the names by which SQL calls it with arguments cast to its types; what else calls it is written out by
    whoever makes trees. `fewest` says how many arguments it needs where some are optional, `many` that the last may
    be repeated, and `strict` that it is NULL wherever an argument is.
    """

    name: str
    arguments: tuple[Type, ...]
    result: Type
    python: Callable[..., Maybe]
    kernel: Callable[..., Result] | None = None
    sql: tuple[str, ...] = ()
    fewest: int | None = None
    many: bool = False
    strict: bool = True

    @property
    def word(self) -> str:
        """What generated code calls it: its name, if that is no word of Python."""
        return self.python.__name__ if keyword.iskeyword(self.name) else self.name

    def types(self, count: int) -> tuple[Type, ...] | None:
        """The types of so many arguments, None if there cannot be so many."""
        if self.many:
            more = count - len(self.arguments)
            return (*self.arguments, *self.arguments[-1:] * more) if more >= 0 else None
        fewest = len(self.arguments) if self.fewest is None else self.fewest
        return self.arguments[:count] if fewest <= count <= len(self.arguments) else None
