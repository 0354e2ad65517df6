"""Trees to Spark's text; a step that fails for one row gives NULL there, and the query lives.

With ANSI mode off, as the session has it, division by zero and bad text already give NULL. Whole numbers and days would
wrap around and casts would cut digits off, both in silence, and times past the ends of time would stop the query: they
become Spark's try_ forms. Functions say so themselves; what only Spark computes is guarded here.
"""

from __future__ import annotations

from collections.abc import Sequence

from millstream.expressions.functions.registry import FUNCTIONS
from millstream.expressions.tree import Call, Column, Literal, OnlySpark, Parameter, Type, Value
from millstream.expressions.words import around, literal_text, spark_construct
from millstream.expressions.written import Text, called, quoted, type_text

_FORGIVING = {"aes_decrypt", "parse_json", "to_binary", "to_number", "url_decode"}
"""The functions that stop a query even with ANSI mode off, and have a try_ form."""

_MOMENTS = {
    *("convert_timezone", "date_trunc", "from_utc_timestamp", "make_timestamp", "make_timestamp_ltz"),
    *("make_timestamp_ntz", "timestamp_millis", "timestamp_seconds", "timestampadd", "to_utc_timestamp"),
}
"""The functions whose result may lie past the ends of time, which would stop a query: here TRY_ADD gives NULL."""

_DAYS = {"add_months", "make_date"}
"""The same for days."""

_DAYS_LATER = {"date_add": "TRY_ADD", "date_sub": "TRY_SUBTRACT", "dateadd": "TRY_ADD"}
"""The functions that count days, which wrap around in silence."""

_ROUNDING = {"round", "bround"}
"""The functions that wrap around where they round whole numbers to tens."""

_TRIED = {"+": "TRY_ADD", "-": "TRY_SUBTRACT", "*": "TRY_MULTIPLY"}

_SIZES = {"tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64"}


def spark_text(value: Value) -> str:
    """The expression as Spark SQL.

    >>> from millstream.expressions.tree import INT32
    >>> spark_text(Call("add_int32", (Column("x", INT32), Literal(1, INT32)), INT32))
    'TRY_ADD(`x`, 1)'
    """
    return _text(value).text


def _text(value: Value) -> Text:
    match value:
        case Column(name=name) | Parameter(name=name):
            return Text(quoted(name))
        case Literal():
            return literal_text(value, "\\'")
        case Call(unwritten=True):
            return _text(value.arguments[0])
        case Call():
            function = FUNCTIONS[value.function]
            return (function.spark or function.words).write(value, [_text(part) for part in function.said(value)])
        case OnlySpark():
            return _guarded(value, [_text(part) for part in value.arguments])
    return around(value, _text)


def _guarded(value: OnlySpark, parts: Sequence[Text]) -> Text:
    """What only Spark computes, in a form that gives NULL where it would fail."""
    name, plain = value.name, spark_construct(value, parts)
    if name == "cast":
        return Text(f"TRY_{plain.text}")
    if name in _TRIED and value.form and len(parts) == 2:
        return _operator(value, parts)
    if value.form:
        return plain
    if name in _FORGIVING:
        return Text(f"TRY_{plain.text}")
    if name in _SIZES and len(parts) == 1:  # a cast, which would cut digits off
        return Text(f"TRY_CAST({parts[0].text} AS {name.upper()})")
    if name in _DAYS_LATER and len(parts) == 2:
        return _days_later(_DAYS_LATER[name], f"CAST({parts[0].text} AS DATE)", parts[1].text, value.arguments[1])
    if name in _ROUNDING and len(parts) == 2 and value.arguments[0].type.is_whole:
        wide = called(name.upper()).write(
            Call("", (), value.type), [Text(f"CAST({parts[0].text} AS DECIMAL(20, 0))"), parts[1]]
        )
        return Text(f"TRY_CAST({wide.text} AS {type_text(value.arguments[0].type)})")
    if name in _MOMENTS or (name in _DAYS_LATER and len(parts) == 3):
        return Text(f"TRY_ADD({plain.text}, INTERVAL '0' SECOND)")
    return Text(f"TRY_ADD({plain.text}, 0)") if name in _DAYS else plain


def _operator(value: OnlySpark, parts: Sequence[Text]) -> Text:
    left, right = value.arguments
    if not _can_overflow(value.type) and not (value.name == "-" and _is_moment(left.type) and _is_moment(right.type)):
        return spark_construct(value, parts)
    function = _TRIED[value.name]
    if value.type.name == "date" and right.type.is_whole:
        return _days_later(function, parts[0].text, parts[1].text, right)
    if value.type.name == "date" and left.type.is_whole:
        return _days_later(function, parts[1].text, parts[0].text, left)
    return called(function).write(Call("", (), value.type), parts)


def _days_later(function: str, day: str, count: str, counted: Value) -> Text:
    number = count if counted.type.is_whole else f"TRY_CAST({count} AS INT)"
    return Text(f"DATE_FROM_UNIX_DATE({function}(UNIX_DATE({day}), {number}))")


def _can_overflow(type_: Type) -> bool:
    return type_.is_whole or type_.name == "date" or _is_moment(type_)


def _is_moment(type_: Type) -> bool:
    return type_.name.startswith("timestamp")
