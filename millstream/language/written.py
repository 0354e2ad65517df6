"""Expressions as a user would write them."""

from __future__ import annotations

from sqlglot import exp

from millstream.language.dialect import Esl


def written(expression: exp.Expr) -> str:
    """The text of an expression, with quotes only around the names that need them.

    >>> from sqlglot import parse_one
    >>> written(parse_one("`price` > 1000 AND NOT `a b` IS NULL", dialect=Esl))
    'price > 1000 AND NOT `a b` IS NULL'
    """
    bare = expression.copy()
    for identifier in bare.find_all(exp.Identifier):
        if identifier.name.isidentifier():
            identifier.set("quoted", False)
    return str(bare.sql(dialect=Esl))
