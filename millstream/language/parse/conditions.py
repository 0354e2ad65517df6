"""Conditions as they are written: the terms that AND joins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from sqlglot import exp

from millstream.expressions.reading import BY_LOT


def terms_of(condition: exp.Expression | None) -> list[exp.Expression]:
    """The conditions that must all hold; none at all if there is no condition.

    >>> from sqlglot import parse_one
    >>> [term.sql() for term in terms_of(parse_one("a AND (b AND (c OR d))"))]
    ['a', 'b', '(c OR d)']
    """
    if condition is None:
        return []
    inner = condition.unnest()
    if isinstance(inner, exp.And):
        return [*terms_of(cast("exp.Expression", inner.this)), *terms_of(cast("exp.Expression", inner.expression))]
    return [condition]


def all_of(terms: Iterable[exp.Expression]) -> exp.Expression | None:
    """The condition that all of these hold; None if there are none.

    >>> all_of([exp.column("a"), exp.column("b")]).sql(), all_of([])
    ('a AND b', None)
    """
    listed = list(terms)
    return cast("exp.Expression", exp.and_(*listed)) if listed else None


def draws_lots(condition: exp.Expression) -> bool:
    """Whether a function in it is drawn by lot, anew for each row."""
    return any(call.name.lower() in BY_LOT for call in condition.find_all(exp.Anonymous))
