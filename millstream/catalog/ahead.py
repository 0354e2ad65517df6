"""How far the time stamps of a stream may run ahead of the clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from millstream.intervals import spoken

EARLIEST, LATEST = -(2**61), 2**61 - 1
"""Time stamps between these, some 73,000 years from 1970, can move windows: nothing that is added leads past int64."""


@dataclass(frozen=True)
class Ahead:
    """The bound, None if there is none; what is beyond `waits` for its time, or else is rejected."""

    bound: timedelta | None
    waits: bool = False

    def __str__(self) -> str:
        if self.bound is None:
            return "unbounded"
        return f"{spoken(self.bound)}{' wait' if self.waits else ''}"


USUAL = Ahead(timedelta(days=1))
"""What holds for streams that are read live and say nothing else."""
