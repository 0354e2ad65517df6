"""The functions that bodies can call: the name at run time, and the types of the arguments."""

from __future__ import annotations

from millstream.udas import body as b

_KINDS = {"d": b.FLOAT64, "s": b.STRING, "i": b.INT32, "D": b.DATE, "T": b.TIMESTAMP, "l": b.INT64}

SIMPLE: dict[str, tuple[str, str]] = {
    **{n: (n, "d") for n in ("sqrt", "exp", "ln", "log10", "log2", "sin", "cos", "tan", "atan", "sign")},
    "signum": ("sign", "d"),
    "isnan": ("is_nan", "d"),
    **dict.fromkeys(("power", "pow"), ("power", "dd")),
    **dict.fromkeys(("upper", "ucase"), ("upper", "s")),
    **dict.fromkeys(("lower", "lcase"), ("lower", "s")),
    **dict.fromkeys(("length", "len", "char_length", "character_length"), ("length", "s")),
    "reverse": ("reverse", "s"),
    "btrim": ("trim", "ss?"),
    "replace": ("replace", "sss?"),
    "contains": ("contains", "ss"),
    "startswith": ("startswith", "ss"),
    "endswith": ("endswith", "ss"),
    "instr": ("instr", "ss"),
    "left": ("left", "si"),
    "right": ("right", "si"),
    **dict.fromkeys(("substr", "substring"), ("substring", "sii?")),
    "concat": ("concat", "s*"),
    "concat_ws": ("concat_ws", "s*"),
    **{n: (n, "D") for n in ("year", "month", "quarter", "day", "dayofweek", "dayofyear", "weekofyear")},
    "dayofmonth": ("day", "D"),
    **{n: (n, "T") for n in ("hour", "minute", "second", "unix_seconds", "unix_millis", "unix_micros")},
    "add_months": ("add_months", "Di"),
    "date_add": ("add_int32", "Di"),
    "date_sub": ("sub_int32", "Di"),
    "datediff": ("sub_int32", "DD"),
    "date_diff": ("sub_int32", "DD"),
    "date_trunc": ("date_trunc", "sT"),
}
"""d is DOUBLE, s STRING, i INT, D DATE, T TIMESTAMP; ? makes the last optional, * takes any number of it."""

CASTS = {
    "boolean": b.BOOL,
    "tinyint": b.INT8,
    "smallint": b.INT16,
    "int": b.INT32,
    "bigint": b.INT64,
    "float": b.FLOAT32,
    "double": b.FLOAT64,
    "string": b.STRING,
    "date": b.DATE,
    "to_date": b.DATE,
    "timestamp": b.TIMESTAMP,
    "to_timestamp": b.TIMESTAMP,
}
"""The functions that are casts."""

SPECIAL = frozenset(
    [
        *("abs", "ceil", "ceiling", "coalesce", "e", "floor", "greatest", "if", "ifnull", "isnotnull", "isnull"),
        *("least", "log", "ltrim", "mod", "negative", "nullif", "nvl", "nvl2", "pi", "pmod", "positive", "round"),
        *("rtrim", "timestamp_micros", "trim", "extract", "date_part", "try_add", "try_subtract", "try_multiply"),
        "try_divide",
    ]
)
"""The functions that have rules of their own."""

PARTS = {
    **{n: n for n in ("year", "quarter", "month", "day", "hour", "minute")},
    "dayofweek": "dayofweek",
    "dow": "dayofweek",
    "doy": "dayofyear",
    "week": "weekofyear",
}
"""What EXTRACT can take out of a time, and the function that does it."""

NAMES = frozenset([*SIMPLE, *CASTS, *SPECIAL])


def wanted(signature: str, count: int) -> list[b.Type] | None:
    """The types that so many arguments must have, None if there cannot be so many.

    >>> [str(t) for t in wanted("sii?", 2)], wanted("dd", 1)
    (['string', 'int32'], None)
    """
    if signature.endswith("*"):
        return [_KINDS[signature[0]]] * count if count else None
    kinds = [_KINDS[k] for k in signature.removesuffix("?")]
    fewest = len(kinds) - signature.endswith("?")
    return kinds[:count] if fewest <= count <= len(kinds) else None


AGGREGATES: dict[str, str] = {
    **{n: n for n in ("count", "first", "last", "bool_and", "bool_or", "min_by", "max_by", "median")},
    **{n: n for n in ("var_pop", "var_samp", "stddev_pop", "stddev_samp", "string_agg")},
    "min": "lowest",
    "max": "highest",
    "sum": "sum",
    "avg": "avg",
}
"""The built-in aggregates that work over local tables, by the names that the registry knows them under."""
