"""What a function of the language is: its signature, and its form for each evaluator.

Whoever computes with rows of Python calls the Python form, which takes None for NULL. Kernels call a form that numba
compiles: for each argument it takes a value and whether that is NULL, whose value is then any, and it gives both. Such
forms are functions of Python too, so that they are tested beside the others. Stages that read by themselves call a
form that takes Arrow arrays of equal length, and single values that stand for as many, of which one at least is an
array. Spark has its own: a function says how SQL writes it, and how Spark must be told where that would stop a query.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from millstream.expressions.arrow.types import arrow_type
from millstream.expressions.arrow.values import elementwise
from millstream.expressions.tree import Call, Literal, Type, Value
from millstream.expressions.written import Writing, called

Maybe = Any
"""A value, or None for NULL: its type is known to whoever made the call."""

Number = Any
"""A number or a truth of a type that numba has."""

Result = tuple[Number, bool]
"""A value, and whether it is NULL."""

Computation = tuple[Callable[..., Any], tuple[Value, ...]]
"""A function of Arrow arrays, and what it is applied to."""

Arrow = Callable[[Call], Computation | None]
"""The Arrow form of a function, for one call of it: None where it cannot compute that one."""

ANY, WHOLE, DECIMAL, ARRAY, SAME, DIGITS = map(Type, ["any", "whole", "decimal", "array", "same", "digits"])
"""In signatures: any type, a whole number or a decimal of any size, an array, the type of the first argument; and a
literal that says the size of the result: its bits, or its precision and scale."""


@dataclass(frozen=True)
class Function:
    """A function of values that have its types already. It has no form where an evaluator cannot compute it.

    `sql` are the names by which SQL calls it with arguments cast to its types; what else calls it is written out by
    whoever makes trees. `fewest` says how many arguments it needs where some are optional, `many` that the last may
    be repeated, and `strict` that it is NULL wherever an argument is.

    `written` is how SQL writes it, for readers: as a call of its first name unless it says otherwise. `spark` is what
    gives NULL in Spark where that would fail, if anything does. One that is said in other functions `means` those: it
    has no other form. One that `varies` for some arguments is not computed before a query runs.
    """

    name: str
    arguments: tuple[Type, ...]
    result: Type
    python: Callable[..., Maybe] | None = None
    kernel: Callable[..., Result] | None = None
    arrow: Arrow | None = None
    sql: tuple[str, ...] = ()
    fewest: int | None = None
    many: bool = False
    strict: bool = True
    written: Writing | None = None
    spark: Writing | None = None
    means: Callable[[Call], Value] | None = None
    varies: Callable[..., bool] | None = None

    @property
    def words(self) -> Writing:
        """How SQL writes it."""
        return self.written or called((self.sql[0] if self.sql else self.name).upper())

    def said(self, call: Call) -> tuple[Value, ...]:
        """The arguments that SQL has: the size of the result is none of them."""
        kinds = self.types(len(call.arguments)) or self.arguments
        return tuple(value for value, kind in zip(call.arguments, kinds, strict=False) if kind != DIGITS)

    @property
    def word(self) -> str:
        """What generated code calls it: its name, if that is no word of Python."""
        return self.python.__name__ if self.python is not None and keyword.iskeyword(self.name) else self.name

    def types(self, count: int) -> tuple[Type, ...] | None:
        """The types of so many arguments, None if there cannot be so many."""
        if self.many:
            more = count - len(self.arguments)
            return (*self.arguments, *self.arguments[-1:] * more) if more >= 0 else None
        fewest = len(self.arguments) if self.fewest is None else self.fewest
        return self.arguments[:count] if fewest <= count <= len(self.arguments) else None


def plain(function: Callable[..., Any]) -> Arrow:
    """The Arrow form that is a function of all arguments."""
    return lambda call: (function, call.arguments)


def sized(function: Callable[..., Any], arguments: int = 2) -> Arrow:
    """The Arrow form that is a function of so many arguments and of the type of the result; sizes come after them."""
    return lambda call: (partial(function, type_=arrow_type(call.type)), call.arguments[:arguments])


def formula(python: Callable[..., Any]) -> Arrow:
    """The Arrow form that is the Python form itself, which computes with arrays of numbers as with a number."""
    return lambda call: (partial(elementwise, formula=python, type_=arrow_type(call.type)), call.arguments)


def written_out(function: Callable[..., Any]) -> Arrow:
    """The Arrow form that is a function of one array; all other arguments must be written out, and come as scalars."""
    return lambda call: None if literals(call.arguments[1:]) is None else (function, call.arguments)


def literals(values: Sequence[Value]) -> list[Any] | None:
    """What is written out, None if one of the values is not, or is NULL."""
    found = [value.value for value in values if isinstance(value, Literal) and value.value is not None]
    return found if len(found) == len(values) else None
