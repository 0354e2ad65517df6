"""Where in the text an expression stands."""

from __future__ import annotations

from sqlglot import exp

from millstream.language.parse.statements import Span


def span_of(node: exp.Expr | None) -> Span | None:
    """The part of the text that a parsed node covers, as far as its tokens remember it."""
    if node is None:
        return None
    marks = [n.meta for n in node.walk() if "start" in n.meta]
    if not marks:
        return None
    return (min(m["start"] for m in marks), max(m["end"] for m in marks) + 1)
