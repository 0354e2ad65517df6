"""Sums and differences of dates, time stamps and intervals, and intervals so many times."""

from __future__ import annotations

from sqlglot import exp

from millstream.expressions.build.builder import Builder
from millstream.expressions.build.steps import call
from millstream.expressions.tree import DATE, FLOAT64, INTERVAL, TIMESTAMP, Value

_TIMESTAMPS = ("timestamp", "timestamp_ntz")


def time_arithmetic(builder: Builder, node: exp.Expr, operator: type[exp.Expr], left: Value, right: Value) -> Value:
    """What an operator makes of two values, one of which at least is about time."""
    minus = operator is exp.Sub
    if operator is exp.Add and right.type.name in ("date", *_TIMESTAMPS):
        left, right = right, left
    if operator in (exp.Mul, exp.Div):
        return _scaled(builder, node, operator, left, right)
    if operator is exp.Mod:
        raise builder.refusal(node)
    match left.type.name, right.type.name:
        case ("date", "date") if minus:
            return call("days_apart", [left, right], INTERVAL)
        case ("timestamp" | "timestamp_ntz" | "date", "timestamp" | "timestamp_ntz" | "date") if minus:
            both = [builder.fitted(v, TIMESTAMP, node) for v in (left, right)]
            return call("time_apart", both, INTERVAL)
        case ("interval", "interval") | ("months", "months"):
            return call("sub_int64" if minus else "add_int64", [left, right], left.type)
        case ("timestamp" | "timestamp_ntz", "interval"):
            return call("subtract_interval" if minus else "add_interval", [left, right], left.type)
        case ("date", "interval"):
            if builder.type(node) == DATE:
                return call("subtract_day_interval" if minus else "add_day_interval", [left, right], DATE)
            start = builder.fitted(left, TIMESTAMP, node)
            return call("subtract_interval" if minus else "add_interval", [start, right], TIMESTAMP)
        case ("timestamp" | "date", "months"):
            if left.type == DATE:
                return call("subtract_month_interval" if minus else "add_month_interval", [left, right], DATE)
            return call("shift_months_back" if minus else "shift_months", [left, right], left.type)
        case ("date", _) if right.type.is_whole:
            return call("subtract_days" if minus else "add_days", [left, right], DATE)
    raise builder.refusal(node)


def _scaled(builder: Builder, node: exp.Expr, operator: type[exp.Expr], left: Value, right: Value) -> Value:
    if operator is exp.Mul and right.type.name in {"interval", "months"}:
        left, right = right, left
    if left.type.name not in {"interval", "months"}:
        raise builder.refusal(node)
    factor = builder.fitted(right, FLOAT64, node)
    return call("divide_interval" if operator is exp.Div else "scale_interval", [left, factor], left.type)
