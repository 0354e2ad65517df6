"""What generated code can call: one name each, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from types import ModuleType
from typing import Any

from millstream.udas.generated import answers, casts, operations, texts, times
from millstream.udas.generated.states import NO_TABLES, State, WindowState
from millstream.udas.generated.tables import Table, Window


def _functions(*modules: ModuleType) -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for module in modules:
        for name, value in vars(module).items():
            own = getattr(value, "__module__", "") == module.__name__ and not isinstance(value, type)
            if own and callable(value) and not name.startswith("_"):
                found[name] = value
    return found


FUNCTIONS = _functions(operations, texts, times, casts)
"""The functions of values, by the names that bodies call them by."""

ANSWERS = _functions(answers)
"""The aggregates over local tables and what else a SELECT needs."""

NAMES: dict[str, Any] = {
    **FUNCTIONS,
    **ANSWERS,
    "NO_TABLES": NO_TABLES,
    "State": State,
    "WindowState": WindowState,
    "Table": Table,
    "Window": Window,
    "Decimal": Decimal,
    "nan": float("nan"),
    "inf": float("inf"),
    # Builtins are taken away from generated code, but for these.
    "__builtins__": {
        "__build_class__": __build_class__,
        "__name__": "millstream_generated",
        "any": any,
        "super": super,
    },
}
"""The globals of generated code."""
