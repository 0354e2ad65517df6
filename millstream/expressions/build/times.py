"""Dates and timestamps as steps."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from millstream.expressions.arrow.steps import Step, applied
from millstream.expressions.arrow.times import shift
from millstream.expressions.build.builder import Builder
from millstream.expressions.build.types import type_of
from millstream.language.parse import written_values as w
from millstream.language.types import coercion as c


def shifted(builder: Builder, node: exp.Expr) -> Step:
    """A date or a timestamp, and an interval: `a + INTERVAL 1 DAY`."""
    time, length, sign = node.this, node.expression, -1 if isinstance(node, exp.Sub) else 1
    if isinstance(node, exp.Add) and c.is_interval(type_of(time)):
        time, length = length, time
    micros = w.micros(length)
    if micros is None:
        raise builder.refusal(node)
    type_, by = type_of(node), sign * micros
    by, most = (by // w.DAY, 2**31) if c.is_date(type_) else (by, 2**63)
    if abs(by) >= most:
        raise builder.refusal(node)
    return applied(partial(shift, by=by), builder.step_as(time, type_))
