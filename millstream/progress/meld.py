"""Meld: several streams read as one. Tuples pass at once, progress is that of the slowest [Li 2008, section 5.2]."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.progress.low_watermark import LowWatermark


class Meld:
    """How far the streams have come together.

    >>> fast, slow = LowWatermark(slack=0), LowWatermark(slack=5)
    >>> meld = Meld([fast, slow])
    >>> fast.saw(oldest=1, newest=20)
    >>> meld.time is None
    True
    >>> slow.saw(oldest=0, newest=8)
    >>> meld.time, meld.oldest, meld.newest
    (3, 0, 20)
    """

    def __init__(self, parts: Sequence[LowWatermark]) -> None:
        self._parts = parts

    @property
    def time(self) -> int | None:
        """No more tuples before this are expected; None as long as nothing is known of one of them."""
        times = [part.time for part in self._parts]
        known = [time for time in times if time is not None]
        return min(known) if len(known) == len(times) else None

    @property
    def oldest(self) -> int | None:
        """The oldest time stamp of all."""
        return min((p.oldest for p in self._parts if p.oldest is not None), default=None)

    @property
    def newest(self) -> int | None:
        """The newest time stamp of all."""
        return max((p.newest for p in self._parts if p.newest is not None), default=None)
