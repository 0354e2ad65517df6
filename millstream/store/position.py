"""Positions in a log of batches."""

from __future__ import annotations

import re
from typing import NamedTuple

from millstream.errors import RunError


class Position(NamedTuple):
    """A row of a log: the batch that it came in, and its place there, from 0. It is the same after a restart.

    >>> str(Position(12, 3)), Position.parse("12.3") == Position(12, 3)
    ('12.3', True)
    """

    batch: int
    row: int

    def __str__(self) -> str:
        return f"{self.batch}.{self.row}"

    @staticmethod
    def parse(text: str) -> Position:
        """The position that a text stands for."""
        found = re.fullmatch(r"(\d+)\.(\d+)", text)
        if found is None:
            raise RunError(f"'{text}' is not a position\nhelp: a position is a batch and a row in it, as '12.3'")
        return Position(int(found[1]), int(found[2]))
