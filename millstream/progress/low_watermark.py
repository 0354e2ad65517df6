"""The low-watermark of an input: from time stamps less a slack, from punctuation, or from the stage before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class LowWatermark:
    """No more tuples before `time` are expected.

    A source promises by its newest time stamp less the slack (None: it does not), and by punctuation among its tuples.
    The buckets of a stage before each promise for themselves, and what holds is the least of that.

    >>> source = LowWatermark(slack=5)
    >>> source.saw(oldest=1, newest=20)
    >>> source.time
    15
    >>> after = LowWatermark(slack=None, origins=2)
    >>> after.promised(17, origin=0)
    >>> after.time is None
    True
    >>> after.promised(12, origin=1)
    >>> after.time
    12
    """

    slack: int | None
    origins: int = 0
    newest: int | None = None
    oldest: int | None = None
    by_punctuation: int | None = None
    by_origin: dict[int, int] = field(default_factory=dict)

    def saw(self, oldest: int | None, newest: int | None) -> None:
        """Take note of time stamps."""
        if newest is not None:
            self.newest = newest if self.newest is None else max(self.newest, newest)
        if oldest is not None:
            self.oldest = oldest if self.oldest is None else min(self.oldest, oldest)

    def promised(self, time: int, origin: int | None = None) -> None:
        """Take note of a promise for the whole stream, or for what comes from one bucket of a stage before."""
        if origin is not None:
            self.by_origin[origin] = max(time, self.by_origin.get(origin, time))
        else:
            self.by_punctuation = time if self.by_punctuation is None else max(self.by_punctuation, time)

    @property
    def time(self) -> int | None:
        """The low-watermark; None if nothing is known yet."""
        if self.origins:
            return min(self.by_origin.values()) if len(self.by_origin) == self.origins else None
        by_slack = None if self.newest is None or self.slack is None else self.newest - self.slack
        return max((t for t in (by_slack, self.by_punctuation) if t is not None), default=None)

    @property
    def record(self) -> list[Any]:
        """What must be remembered, as JSON can hold it."""
        return [self.newest, self.oldest, self.by_punctuation, list(self.by_origin.items())]

    def restore(self, record: Sequence[Any]) -> None:
        """Go on from what was remembered."""
        self.newest, self.oldest, self.by_punctuation, by_origin = record
        self.by_origin = {int(origin): int(time) for origin, time in by_origin}
