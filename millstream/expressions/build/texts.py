"""Texts as steps."""

from __future__ import annotations

from functools import partial

import pyarrow.compute as pc
from sqlglot import exp

from millstream.expressions.arrow import texts as f
from millstream.expressions.arrow.steps import Step, applied
from millstream.expressions.build.builder import Builder
from millstream.expressions.build.types import type_of
from millstream.language.parse import written_values as w
from millstream.language.types import coercion as c


def like(builder: Builder, node: exp.Expr) -> Step:
    """`a LIKE 'b%'`."""
    return _like(builder, node, "\\")


def escape(builder: Builder, node: exp.Expr) -> Step:
    """`a LIKE 'b!%' ESCAPE '!'`."""
    letter = node.expression
    if not isinstance(node.this, exp.Like) or not letter.is_string or len(letter.name) != 1:
        raise builder.refusal(node)
    return _like(builder, node.this, letter.name)


def _like(builder: Builder, node: exp.Expr, letter: str) -> Step:
    pattern = node.expression.unnest()
    regex = w.like_regex(pattern.name, letter) if isinstance(pattern, exp.Literal) and pattern.is_string else None
    if regex is None:
        raise builder.refusal(node)
    found = applied(partial(f.matches, pattern=regex), builder.text(node.this))
    return applied(pc.invert, found) if node.args.get("negate") else found


def pipe(builder: Builder, node: exp.Expr) -> Step:
    """`a || b`."""
    return applied(f.concat, builder.text(node.this), builder.text(node.expression))


def substring(builder: Builder, node: exp.Expr) -> Step:
    """`substring(a, 1, 2)`."""
    start, count = (node.args.get(key) for key in ("start", "length"))
    places = [None if n is None else w.whole_number(n) for n in (start, count)]
    if not c.is_string(type_of(node.this)) or places[0] is None or (count is not None and places[1] is None):
        raise builder.refusal(node)
    return applied(partial(f.substring, start=places[0], count=places[1]), builder.step(node.this))
