"""The last look at what a statement has become: which functions it calls, wherever in it they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from millstream.catalog.schema import SqlType
from millstream.errors import Refused
from millstream.expressions.reading import walk
from millstream.expressions.tree import OnlySpark, Value
from millstream.language.bind.expressions import check_known
from millstream.language.types import functions

_FOR_ROWS = (functions.Kind.SCALAR, functions.Kind.GENERATOR)


def check_calls(bound: object, text: str) -> None:
    """Refuse a bound statement that would make Spark call a function which is unknown, forbidden, or no scalar.

    Whoever binds an expression has told so already, with better words; what was overlooked ends here.
    """
    for expression in expressions_of(bound):
        for part in walk(expression):
            if not isinstance(part, OnlySpark) or part.form:
                continue
            check_known(part.name, text, part.span, "statement")
            if functions.kind(part.name) not in _FOR_ROWS:
                hint = "put it into a subquery in FROM, and use its column"
                raise Refused(f"{part.name} cannot stand here", text, part.span, clause="statement", hint=hint)


def expressions_of(bound: object) -> Iterator[Value]:
    """All expressions in the fields of a bound statement."""
    if isinstance(bound, Value):
        yield bound
    elif isinstance(bound, tuple | list):
        for part in bound:
            yield from expressions_of(part)
    elif is_dataclass(bound) and not isinstance(bound, SqlType):
        for field in fields(bound):
            yield from expressions_of(getattr(bound, field.name))
