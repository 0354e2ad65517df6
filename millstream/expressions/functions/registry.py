"""All functions of the language that are computed outside of Spark, by their names."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from millstream.expressions.functions import (
    arrays,
    casts,
    choices,
    comparisons,
    dates,
    decimals,
    division,
    durations,
    floats,
    logic,
    mathematics,
    patterns,
    rounding,
    texts,
    timestamps,
    whole_numbers,
    written_numbers,
    written_times,
)
from millstream.expressions.functions.function import Function

FAMILIES: tuple[ModuleType, ...] = (
    *(whole_numbers, division, floats, decimals, mathematics, rounding),
    *(comparisons, logic, choices, texts, patterns, dates, timestamps, durations),
    *(casts, written_numbers, written_times, arrays),
)

FUNCTIONS: dict[str, Function] = {function.name: function for family in FAMILIES for function in family.FUNCTIONS}
"""By the names that trees call them by."""

BY_SQL_NAME: dict[str, Function] = {name: function for function in FUNCTIONS.values() for name in function.sql}
"""Those that SQL calls by a name of their own, in small letters."""

PYTHON: dict[str, Callable[..., Any]] = {
    function.word: function.python for function in FUNCTIONS.values() if function.python is not None
}
"""What generated code of Python can call."""

KERNELS: dict[str, Callable[..., Any]] = {
    function.word: function.kernel for function in FUNCTIONS.values() if function.kernel is not None
}
"""What kernels can call."""
