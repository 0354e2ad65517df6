"""Times moved on by intervals, and intervals between times: each is said in functions of numbers."""

from __future__ import annotations

from millstream.expressions.functions.function import ANY, SAME, Function
from millstream.expressions.tree import DATE, FLOAT64, INT32, INT64, INTERVAL, MONTHS, TIMESTAMP, Call, Literal, Value
from millstream.expressions.written import MINUS, PLUS, PRODUCT, TRIED_MINUS, TRIED_PLUS, infix

_DAY = Literal(86_400_000_000, INT64)


def _days_apart(call: Call) -> Value:
    return Call("mul_int64", (Call("days_between", call.arguments, INT32), _DAY), INTERVAL)


def _time_apart(call: Call) -> Value:
    return Call("sub_int64", call.arguments, INTERVAL)


def _days_on(call: Call) -> Value:
    day, length = call.arguments
    function = "add_days" if call.function == "add_day_interval" else "subtract_days"
    return Call(function, (day, Call("div_int64", (length, _DAY), INT32)), DATE)


def _months_on(call: Call) -> Value:
    return Call("add_months", call.arguments, DATE)


def _months_back(call: Call) -> Value:
    start, months = call.arguments
    function = "add_months" if call.type == DATE else "shift_months"
    return Call(function, (start, Call("neg_int64", (months,), MONTHS)), call.type)


def _part(call: Call) -> Value:
    length, count = call.arguments
    factor = Call("div_float64", (Literal(1.0, FLOAT64), count), FLOAT64)
    return Call("scale_interval", (length, factor), call.type)


FUNCTIONS = (
    Function("days_apart", (DATE, DATE), INTERVAL, written=MINUS, means=_days_apart),
    Function("time_apart", (TIMESTAMP, TIMESTAMP), INTERVAL, written=MINUS, spark=TRIED_MINUS, means=_time_apart),
    Function("add_day_interval", (DATE, INTERVAL), DATE, written=PLUS, spark=TRIED_PLUS, means=_days_on),
    Function("subtract_day_interval", (DATE, INTERVAL), DATE, written=MINUS, spark=TRIED_MINUS, means=_days_on),
    Function("add_month_interval", (DATE, MONTHS), DATE, written=PLUS, spark=TRIED_PLUS, means=_months_on),
    Function("subtract_month_interval", (DATE, MONTHS), DATE, written=MINUS, spark=TRIED_MINUS, means=_months_back),
    Function("shift_months_back", (TIMESTAMP, MONTHS), SAME, written=MINUS, spark=TRIED_MINUS, means=_months_back),
    Function("divide_interval", (ANY, FLOAT64), SAME, written=infix("/", PRODUCT), means=_part),
)
