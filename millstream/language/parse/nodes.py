"""What sqlglot's trees have no node for."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

SINCE = "since"
"""Among what is known of an input in FROM: the words of `SINCE t UNTIL u` behind it."""


class EslWindow(exp.Expression):
    """A window clause, kept as text: `[RANGE ...]` after an aggregate or a stream, `OVER (...)`, `HOP(...)`, `EMIT`."""

    arg_types: ClassVar = {"this": False, "form": True, "text": True}
