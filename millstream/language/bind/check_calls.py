"""The last look at what a statement has become: which functions it calls, wherever in it they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from sqlglot import exp

from millstream.errors import Refused
from millstream.language.bind.expressions import check_known
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.spans import span_of
from millstream.language.types import functions

_FOR_ROWS = (functions.Kind.SCALAR, functions.Kind.GENERATOR)


def check_calls(bound: object, text: str) -> None:
    """Refuse a bound statement that would make Spark call a function which is unknown, forbidden, or no scalar.

    Whoever binds an expression has told so already, with better words; what was overlooked ends here.
    """
    for expression in expressions_of(bound):
        for node in expression.walk():
            name = name_of_call(node)
            if name is None:
                continue
            check_known(name, text, span_of(node), "statement")
            if functions.kind(name) not in _FOR_ROWS:
                hint = "put it into a subquery in FROM, and use its column"
                raise Refused(f"{name} cannot stand here", text, span_of(node), clause="statement", hint=hint)


def expressions_of(bound: object) -> Iterator[exp.Expr]:
    """All expressions in the fields of a bound statement."""
    if isinstance(bound, exp.DataType):
        return
    if isinstance(bound, exp.Expr):
        yield bound
    elif isinstance(bound, tuple | list):
        for part in bound:
            yield from expressions_of(part)
    elif is_dataclass(bound):
        for field in fields(bound):
            yield from expressions_of(getattr(bound, field.name))
