"""The built-in aggregates of bodies."""

from __future__ import annotations

AGGREGATES: dict[str, str] = {
    **{n: n for n in ("count", "first", "last", "bool_and", "bool_or", "min_by", "max_by", "median")},
    **{n: n for n in ("var_pop", "var_samp", "stddev_pop", "stddev_samp", "string_agg")},
    "min": "lowest",
    "max": "highest",
    "sum": "sum",
    "avg": "avg",
}
"""The built-in aggregates that work over local tables, by the names that the registry knows them under."""
