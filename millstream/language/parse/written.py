"""Expressions as a user would write them."""

from __future__ import annotations

from sqlglot import exp

from millstream.language.parse.dialect import Esl


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


def stands_for(column: exp.Expression, node: exp.Expr) -> exp.Expression:
    """A column of the system's own, which is told to users as what they have written."""
    column.this.meta[_WRITTEN] = written(node)
    marks = [n.meta for n in node.walk() if "start" in n.meta]
    if marks:
        column.this.meta.update(start=min(m["start"] for m in marks), end=max(m["end"] for m in marks))
    return column


def message_text(expression: exp.Expr) -> str:
    """The text of an expression in a message: without columns of the system's own."""
    return written(expression.copy().transform(_as_written, copy=False))


def text_of(column: exp.Column) -> str | None:
    """What users have written for a column of the system's own; None for others."""
    found = column.this.meta.get(_WRITTEN)
    return None if found is None else str(found)


def _as_written(node: exp.Expr) -> exp.Expr:
    text = text_of(node) if isinstance(node, exp.Column) else None
    return node if text is None else exp.var(text)


_WRITTEN = "written"
