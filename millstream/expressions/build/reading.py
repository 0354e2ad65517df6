"""What a bound expression reads, the terms that AND joins in it, and the same expression over other columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from sqlglot import exp


def columns_of(*expressions: exp.Expr | None) -> frozenset[str]:
    """The names of the columns that expressions read, as the binder spells them; None reads nothing.

    >>> sorted(columns_of(exp.column("a") + exp.column("B"), None))
    ['B', 'a']
    """
    return frozenset(column.name for e in expressions if e is not None for column in e.find_all(exp.Column))


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


def over_columns(expression: exp.Expression, meanings: Mapping[str, exp.Expression]) -> exp.Expression:
    """The expression with the meanings of its columns in their place; `meanings` go by names in small letters.

    >>> over_columns(exp.column("B") + 1, {"b": exp.column("a")}).sql()
    'a + 1'
    """

    def resolve(part: exp.Expr) -> exp.Expr:
        return meanings[part.name.lower()].copy() if isinstance(part, exp.Column) else part

    return cast("exp.Expression", expression.copy().transform(resolve, copy=False))


_BY_LOT = {"monotonically_increasing_id", "rand", "randn", "random", "randstr", "shuffle", "uniform", "uuid"}


def draws_lots(expression: exp.Expression) -> bool:
    """Whether a value is drawn by lot, anew for each row.

    >>> from sqlglot import parse_one
    >>> draws_lots(exp.GT(this=exp.Anonymous(this="RAND"), expression=exp.column("x"))), draws_lots(parse_one("x > 1"))
    (True, False)
    """
    return any(call.name.lower() in _BY_LOT for call in expression.find_all(exp.Anonymous))
