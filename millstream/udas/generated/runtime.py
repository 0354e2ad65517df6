"""What generated code can call: one name each, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from millstream.expressions.functions.comparisons import among
from millstream.expressions.functions.registry import PYTHON
from millstream.udas.generated import answers
from millstream.udas.generated.states import NO_TABLES, State, WindowState
from millstream.udas.generated.tables import Table, Window

ANSWERS: dict[str, Callable[..., Any]] = {
    name: value
    for name, value in vars(answers).items()
    if callable(value) and getattr(value, "__module__", "") == answers.__name__ and not isinstance(value, type)
    if not name.startswith("_")
}
"""The aggregates over local tables and what else a SELECT needs."""

NAMES: dict[str, Any] = {
    **PYTHON,
    **ANSWERS,
    "among": among,
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
