"""Millstream: continuous SQL over unbounded, unordered streams, on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.errors import (
    EslError,
    EslSyntaxError,
    MillstreamError,
    NameTaken,
    NotYet,
    Refused,
    RunError,
    SettingError,
    TypeMismatch,
    UnknownName,
)

if TYPE_CHECKING:
    from millstream.mill import Answer, Mill, RunningQuery, connect
    from millstream.udas.bind.declare import aggregate

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "EslError",
    "EslSyntaxError",
    "Mill",
    "MillstreamError",
    "NameTaken",
    "NotYet",
    "Refused",
    "RunError",
    "RunningQuery",
    "SettingError",
    "TypeMismatch",
    "UnknownName",
    "__version__",
    "aggregate",
    "connect",
]


def __getattr__(name: str) -> Any:
    # The language can be used without loading Spark: only what runs queries pulls it in.
    if name in {"Answer", "Mill", "RunningQuery", "connect"}:
        import millstream.mill

        return getattr(millstream.mill, name)
    if name == "aggregate":
        from millstream.udas.bind.declare import aggregate

        return aggregate
    message = f"module 'millstream' has no attribute '{name}'"
    raise AttributeError(message)
