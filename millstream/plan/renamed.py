"""Expressions over the columns of another step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from sqlglot import exp


def renamed(expression: exp.Expression, meanings: Mapping[str, exp.Expression]) -> exp.Expression:
    """The expression with what its columns mean in their place; `meanings` go by names in small letters.

    >>> renamed(exp.column("B") + 1, {"b": exp.column("a")}).sql()
    'a + 1'
    """

    def resolve(part: exp.Expr) -> exp.Expr:
        return meanings[part.name.lower()].copy() if isinstance(part, exp.Column) else part

    return cast("exp.Expression", expression.copy().transform(resolve, copy=False))
