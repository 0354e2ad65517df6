"""What sqlglot's trees have no node for."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class EslWindow(exp.Expression):
    """A window clause, kept as text: `[RANGE ...]` after an aggregate or a stream, `OVER (...)`, `HOP(...)`, `EMIT`."""

    arg_types: ClassVar = {"this": False, "form": True, "text": True}
