"""The functions that bodies can call, besides those that a family lists by a name in SQL."""

from __future__ import annotations

from millstream.expressions.functions.registry import BY_SQL_NAME

CASTS = {
    **{name: name for name in ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double")},
    "date": "date",
    "to_date": "date",
    "timestamp": "timestamp",
    "to_timestamp": "timestamp",
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

NAMES = frozenset([*BY_SQL_NAME, *CASTS, *SPECIAL, "string"])


AGGREGATES: dict[str, str] = {
    **{n: n for n in ("count", "first", "last", "bool_and", "bool_or", "min_by", "max_by", "median")},
    **{n: n for n in ("var_pop", "var_samp", "stddev_pop", "stddev_samp", "string_agg")},
    "min": "lowest",
    "max": "highest",
    "sum": "sum",
    "avg": "avg",
}
"""The built-in aggregates that work over local tables, by the names that the registry knows them under."""
