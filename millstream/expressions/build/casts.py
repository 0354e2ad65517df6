"""Casts: the function that makes a value of another type."""

from __future__ import annotations

from dataclasses import replace

from millstream.expressions.build.steps import number, unwritten
from millstream.expressions.elementary import known
from millstream.expressions.tree import BOOL, FLOAT64, INT32, Call, Type, Value

BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_RANK = ["int8", "int16", "int32", "int64"]
_TEXTS = {
    "bool": "bool_text",
    "float32": "float32_text",
    "float64": "float_text",
    "decimal": "decimal_text",
    "date": "date_text",
    "timestamp": "timestamp_text",
    **dict.fromkeys(BITS, "int_text"),
}
_TIMES = {
    ("string", "timestamp"): "timestamp_of",
    ("string", "timestamp_ntz"): "timestamp_ntz_of",
    ("string", "date"): "date_of",
    ("date", "timestamp"): "midnight",
    ("date", "timestamp_ntz"): "midnight",
    ("timestamp", "date"): "day_of",
    ("timestamp_ntz", "date"): "day_of",
    ("timestamp", "timestamp_ntz"): "without_zone",
    ("timestamp_ntz", "timestamp"): "with_zone",
    ("timestamp", "int64"): "unix_seconds",
}


def cast(value: Value, to: Type, *, asked: bool = True, widens: bool = True) -> Value | None:
    """The value as one of another type, None if there is no such cast. Decimals become other texts where CAST asks.

    Where numbers of all sizes are numbers of Python, none needs to be told that it may be greater: `widens` is false.
    A cast that nobody asked for is unwritten, as are the steps before the last one.
    """
    found = _cast(value, to, asked, widens)
    return replace(found, unwritten=False) if asked and isinstance(found, Call) and found is not value else found


def _cast(value: Value, to: Type, asked: bool, widens: bool) -> Value | None:
    source = value.type
    if source == to:
        return value
    if source.name == "null":
        return unwritten("null_as", [value], to)
    if to.name == "string" and source.name == "decimal" and not asked:
        return unwritten("short_decimal_text", [value], to)
    if to.name == "string":
        return unwritten(_TEXTS[source.name], [value], to) if source.name in _TEXTS else None
    if (source.name, to.name) in _TIMES:
        return unwritten(_TIMES[source.name, to.name], [value], to)
    if to.name == "bool":
        return _to_bool(value)
    if to.is_whole:
        return _to_whole(value, to, widens)
    if to.is_float:
        return _to_float(value, to, widens)
    return _to_decimal(value, to) if to.name == "decimal" else None


def fits(value: Value, to: Type) -> bool:
    """Whether a value is certain to fit a whole number type."""
    source, literal = value.type, known(value)
    if literal is not None and literal.value is None:
        return True
    if literal is not None and source.is_whole and isinstance(literal.value, int):
        most = 2 ** (BITS[to.name] - 1)
        return bool(-most <= literal.value < most)
    return source.name == "null" or (source.is_whole and _RANK.index(source.name) <= _RANK.index(to.name))


def _is_number(type_: Type) -> bool:
    return type_.is_whole or type_.is_float or type_.name == "decimal"


def _wider(value: Value, to: Type, widens: bool) -> Value:
    return unwritten("widen", [value], to) if widens or known(value) is not None else value


def _to_bool(value: Value) -> Value | None:
    if value.type.name == "string":
        return unwritten("text_to_bool", [value], BOOL)
    return unwritten("to_bool", [value], BOOL) if _is_number(value.type) else None


def _to_whole(value: Value, to: Type, widens: bool) -> Value | None:
    bits = number(BITS[to.name])
    if value.type.is_whole and _RANK.index(value.type.name) < _RANK.index(to.name):
        return _wider(value, to, widens)
    if value.type.name == "string":
        return unwritten("text_to_int", [value, bits], to)
    if value.type.name == "bool":
        return unwritten("bool_to_int", [value], to)
    if not _is_number(value.type):
        return None
    name = "float_to_int" if value.type.is_float else "int_to_int" if value.type.is_whole else "decimal_to_int"
    return unwritten(name, [value, bits], to)


def _to_float(value: Value, to: Type, widens: bool) -> Value | None:
    if value.type.name == "float32":
        return _wider(value, to, widens)
    if value.type.name == "string":
        return unwritten("text_to_float32" if to.name == "float32" else "text_to_float", [value], to)
    if value.type.name != "float64":
        if not _is_number(value.type) and value.type.name != "bool":
            return None
        value = unwritten("to_float", [value], FLOAT64)
    return unwritten("float32", [value], to) if to.name == "float32" else value


def _to_decimal(value: Value, to: Type) -> Value | None:
    digits = [number(to.precision), number(to.scale)]
    if value.type.name == "string":
        return unwritten("text_to_decimal", [value, *digits], to)
    if value.type.is_float:
        return unwritten("float_to_decimal", [value, *digits], to)
    if value.type.name == "bool":
        value = unwritten("bool_to_int", [value], INT32)
    return unwritten("decimal", [value, *digits], to) if _is_number(value.type) else None
