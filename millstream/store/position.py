"""Positions in a log of batches."""

from __future__ import annotations

import re
from typing import NamedTuple

from millstream.errors import RunError

EXAMPLE = "12.3.5f0a1c2e"
"""How a position is written."""


class Position(NamedTuple):
    """A row of a log: the batch that it came in, its place there, from 0, and the log. It is the same after a restart.

    The `log` is named by what it drew when it began: under the name of a query there may have been others.

    >>> str(Position(12, 3, "5f0a1c2e")), Position.parse("12.3.5f0a1c2e") == Position(12, 3, "5f0a1c2e")
    ('12.3.5f0a1c2e', True)
    """

    batch: int
    row: int
    log: str = ""

    def __str__(self) -> str:
        return f"{self.batch}.{self.row}.{self.log}"

    @property
    def place(self) -> Position:
        """Batch and row alone: what positions of one log are compared by."""
        return Position(self.batch, self.row)

    @staticmethod
    def parse(text: str) -> Position:
        """The position that a text stands for."""
        found = re.fullmatch(r"([0-9]{1,18})\.([0-9]{1,18})\.([0-9a-f]{8})", text)  # numbers of 64 bits
        if found is None:
            raise RunError(f"'{text}' is not a position\nhelp: {WRITTEN}")
        return Position(int(found[1]), int(found[2]), found[3])


WRITTEN = f"a position is a batch, a row in it and the sign of the log, as '{EXAMPLE}'; SUBSCRIBE shows them"
