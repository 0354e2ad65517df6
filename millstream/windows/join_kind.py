"""The kinds of joins: inner, outer, semi and anti."""

from __future__ import annotations

from enum import Enum


class JoinKind(Enum):
    """What becomes of pairs, and of tuples without a match."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"  # the left tuples that have a match, each once
    ANTI = "anti"  # those that have none

    @property
    def paired(self) -> bool:
        """Whether the answers are pairs; those of SEMI and ANTI are tuples of the left side alone."""
        return self not in {JoinKind.SEMI, JoinKind.ANTI}

    def preserves(self, port: int) -> bool:
        """Whether tuples of a side are answered if they have no match."""
        if port == 0:
            return self in {JoinKind.LEFT, JoinKind.FULL, JoinKind.ANTI}
        return self in {JoinKind.RIGHT, JoinKind.FULL}

    def settles(self, port: int) -> bool:
        """Whether it matters for tuples of a side if they have had a match."""
        return self.preserves(port) or (self is JoinKind.SEMI and port == 0)
