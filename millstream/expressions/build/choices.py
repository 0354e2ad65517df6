"""Choices as steps: CASE, IF, the first value that is not NULL, the greatest and the least."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

import pyarrow.compute as pc
from sqlglot import exp

from millstream.catalog.arrow import carried, to_arrow
from millstream.catalog.schema import SqlType, type_name
from millstream.expressions.arrow import choices as arrow_choices
from millstream.expressions.arrow import comparisons as arrow_comparisons
from millstream.expressions.arrow.steps import Step, applied, chosen
from millstream.expressions.build import constants
from millstream.expressions.build.builder import Builder
from millstream.expressions.build.comparisons import compared
from millstream.expressions.build.types import type_of
from millstream.language.types import coercion as c


def case(builder: Builder, node: exp.Expr) -> Step:
    """`CASE WHEN a THEN b ELSE c END`, and `CASE a WHEN b THEN c END`."""
    found = _otherwise(builder, node, node.args.get("default"))
    for branch in reversed(node.args["ifs"]):
        if node.this:
            when = compared(builder, node, arrow_comparisons.equal, node.this, branch.this)
        else:
            when = builder.truth(branch.this)
        found = chosen(when, _branch(builder, branch.args["true"], type_of(node)), found)
    return found


def if_(builder: Builder, node: exp.Expr) -> Step:
    """`IF(a, b, c)`."""
    other = _otherwise(builder, node, node.args.get("false"))
    return chosen(builder.truth(node.this), _branch(builder, node.args["true"], type_of(node)), other)


def _otherwise(builder: Builder, node: exp.Expr, default: exp.Expr | None) -> Step:
    if default:
        return _branch(builder, default, type_of(node))
    return constants.null(builder.carried_type(node))


def _branch(builder: Builder, node: exp.Expr, type_: SqlType) -> Step:
    """A part that may be chosen: an array too, if no element of it must be turned into something else."""
    target = carried(type_)
    if target is None or target == to_arrow(type_):
        return builder.step_as(node, type_)
    if c.is_null(type_of(node)):
        return constants.null(target)
    if type_name(type_of(node)) != type_name(type_):
        raise builder.refusal(node)
    return builder.step(node)


def coalesce(builder: Builder, node: exp.Expr) -> Step:
    """`coalesce(a, b)`."""
    return first(builder, [node.this, *node.expressions], type_of(node))


def first(builder: Builder, nodes: Sequence[exp.Expr], type_: SqlType) -> Step:
    """The first of the parts that is not NULL, in a type for all of them."""
    return applied(pc.coalesce, *(builder.step_as(n, type_) for n in nodes))


def extreme(builder: Builder, node: exp.Expr) -> Step:
    """`greatest(a, b)` and `least(a, b)`."""
    function = arrow_choices.greatest if isinstance(node, exp.Greatest) else arrow_choices.least
    steps = (builder.step_as(n, type_of(node)) for n in (node.this, *node.expressions))
    return reduce(partial(applied, function), steps)
