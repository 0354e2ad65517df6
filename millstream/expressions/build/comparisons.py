"""Comparisons, IN, IS and LIKE, and the logic that joins them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from millstream.catalog.schema import type_name
from millstream.expressions.build.builder import Builder
from millstream.expressions.build.steps import call
from millstream.expressions.build.types import meeting, sql_type_of
from millstream.expressions.elementary import known
from millstream.expressions.reading import joined
from millstream.expressions.tree import BOOL, Call, Value
from millstream.language.parse.written import written
from millstream.language.types import coercion as c

SIGNS: dict[type[exp.Expr], str] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
}


def comparison(builder: Builder, node: exp.Expr) -> Value:
    """`a < b`, and its like."""
    return compared(builder, node, SIGNS[type(node)], node.this, node.expression)


def compared(builder: Builder, node: exp.Expr, name: str, left: exp.Expr, right: exp.Expr) -> Value:
    """Two parts of a node, compared in the type in which they meet."""
    for side, other in ((left, right), (right, left)):
        # Spark makes TRUE or FALSE of these even for NULL.
        if name not in {"eq", "ne", "same", "differs"} and c.is_integral(sql_type_of(side)) and _is_beyond(other):
            raise builder.refusal(node)
    return call(name, _alike(builder, node, [left, right]), BOOL)


def _is_beyond(node: exp.Expr) -> bool:
    """Whether a decimal literal is too great or too small for BIGINT."""
    literal = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(literal, exp.Literal) or not c.is_decimal(sql_type_of(node)):
        return False
    return abs(Decimal(literal.name)) >= 2**63


def _alike(builder: Builder, node: exp.Expr, sides: Sequence[exp.Expr]) -> list[Value]:
    """Two sides of a comparison, of one type."""
    common = meeting(sides[0], sides[1])
    values = [builder.value(side) for side in sides]
    to = builder.types(common) if common is not None else None
    if to is None:
        if values[0].type == values[1].type:
            return values
        raise builder.refusal(node, f"{written(node)} cannot be compared {builder.place}")
    found = [builder.fitted(v, to, s) for v, s in zip(values, sides, strict=True)]
    for before, after in zip(values, found, strict=True):
        if (
            (one := known(before)) is not None
            and (other := known(after)) is not None
            and (one.value is None) != (other.value is None)
        ):
            # A text that is no such value: where no CAST is written, Spark may read some of it all the same.
            raise builder.refusal(node, f"{written(node)} cannot be compared {builder.place}")
    return found


def between(builder: Builder, node: exp.Expr) -> Value:
    """`a BETWEEN b AND c`."""
    if node.args.get("symmetric"):
        raise builder.refusal(node)
    low = compared(builder, node, "ge", node.this, node.args["low"])
    high = compared(builder, node, "le", node.this, node.args["high"])
    assert isinstance(low, Call)  # noqa: S101
    assert isinstance(high, Call)  # noqa: S101
    return call("between", [*low.arguments, *high.arguments], BOOL)


def same(builder: Builder, node: exp.Expr) -> Value:
    """`a <=> b`, and `a IS DISTINCT FROM b`."""
    name = "same" if isinstance(node, exp.NullSafeEQ) else "differs"
    return compared(builder, node, name, node.this, node.expression)


def in_(builder: Builder, node: exp.Expr) -> Value:
    """`a IN (b, c)`."""
    listed = node.expressions
    if not listed or any(node.args.get(key) for key in ("query", "unnest", "field")):
        raise builder.refusal(node)
    common = c.widest([sql_type_of(n) for n in (node.this, *listed)], texts=False)
    to = None if common is None else builder.types(common)
    if to is not None:
        return call("one_of", [builder.value_as(n, to) for n in (node.this, *listed)], BOOL)
    types = {type_name(t) for t in map(sql_type_of, (node.this, *listed)) if not (c.is_null(t) or c.is_string(t))}
    if len(types) > 1:
        message = f"{written(node)} cannot be compared {builder.place}"
        raise builder.refusal(node, message, "CAST all to one type")
    pairs = [compared(builder, node, "eq", node.this, member) for member in listed]
    return call("among", [side for pair in pairs if isinstance(pair, Call) for side in pair.arguments], BOOL)


def is_(builder: Builder, node: exp.Expr) -> Value:
    """`a IS NULL`, `a IS TRUE` and `a IS FALSE`."""
    if isinstance(node.expression, exp.Null):
        return call("is_null", [builder.value(node.this)], BOOL)
    if isinstance(node.expression, exp.Boolean):
        truth = exp.Boolean(this=node.expression.this)
        truth.type = c.BOOLEAN
        value, _ = _alike(builder, node, [node.this, truth])
        if value.type != BOOL:
            raise builder.refusal(node)
        return call("is_true" if truth.this else "is_false", [value], BOOL)
    raise builder.refusal(node)


def not_(builder: Builder, node: exp.Expr) -> Value:
    """`NOT a`."""
    return call("not", [builder.truth(node.this)], BOOL)


def connected(builder: Builder, node: exp.Expr) -> Value:
    """`a AND b`, `a OR b`."""
    # A long chain of ANDs is a deep tree to the left: it is walked, not recursed into.
    kind, parts, current = type(node), [], node
    while isinstance(current, kind):
        parts.append(current.expression)
        current = current.this
    found = joined("and" if kind is exp.And else "or", [builder.truth(part) for part in (current, *reversed(parts))])
    assert found is not None  # noqa: S101
    return found


def like(builder: Builder, node: exp.Expr) -> Value:
    """`a LIKE 'b%'`."""
    return _like(builder, node, [node.expression])


def escape(builder: Builder, node: exp.Expr) -> Value:
    """`a LIKE 'b!%' ESCAPE '!'`."""
    letter = node.expression
    if not isinstance(node.this, exp.Like | exp.ILike) or not letter.is_string or len(letter.name) != 1:
        raise builder.refusal(node)
    return _like(builder, node.this, [node.this.expression, letter])


def _like(builder: Builder, node: exp.Expr, pattern: Sequence[exp.Expr]) -> Value:
    name = "like" if isinstance(node, exp.Like) else "ilike"
    found = call(name, [builder.text(n) for n in (node.this, *pattern)], BOOL)
    return call("not", [found], BOOL) if node.args.get("negate") else found
