"""The job of a window join: its kind, its bounds on time, its keys, and the columns of its answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millstream.windows.join_kind import JoinKind
from millstream.windows.reach import Reach

__all__ = ["JoinKind", "Residual", "WindowJoinJob", "key_name"]

Residual = Callable[[pa.Table], Any]
"""Given a table of pairs, an Arrow array that says which of them match; NULL is no."""


def key_name(number: int) -> str:
    """The name of a key column, the same on both sides.

    >>> key_name(0)
    '__k0'
    """
    return f"__k{number}"


@dataclass(frozen=True)
class WindowJoinJob:
    """A join of two streams. Tables of either side have its columns, `keys` key columns and TIME.

    `left` and `right` are the columns that answers carry; their names are unique over both. `residual` says which pairs
    that are near enough and have equal keys really match. `promised` are the names under which the promises about the
    left time, the right time and the later one of both are given. `key_types` are the types of the key columns as they
    come; without them promises to groups are not used.
    """

    kind: JoinKind
    reach: Reach
    keys: int
    left: pa.Schema
    right: pa.Schema
    residual: Residual | None = None
    promised: tuple[str | None, str | None, str | None] = (None, None, None)
    key_types: tuple[pa.DataType, ...] = ()

    @property
    def key_names(self) -> list[str]:
        """The names of the key columns."""
        return [key_name(i) for i in range(self.keys)]

    def columns(self, port: int) -> pa.Schema:
        """The columns of a side that are needed once its tuples have come."""
        if port == 1 and not self.kind.paired and self.residual is None:
            return pa.schema([])
        return self.left if port == 0 else self.right

    @property
    def answers(self) -> pa.Schema:
        """The columns of the answers."""
        sides = (self.left, self.right) if self.kind.paired else (self.left,)
        return pa.schema([pa.field(f.name, f.type) for side in sides for f in side])
