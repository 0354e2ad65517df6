"""Cumulating time windows: they grow by a step up to a size, then start anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from millstream.errors import SettingError
from millstream.structure import Structure
from millstream.windows.panes import Paned
from millstream.windows.tuples import Ids, Ints, Times, Tuple, require_positive
from millstream.windows.words import duration, moved_to


@dataclass(frozen=True)
class Cumulate(Paned):
    """Window w is [start, end) with end = origin + (w + 1) * step and start the last origin + k * size before end.

    As CUMULATE of Flink: the size is a multiple of the step. Not in [Li 2008].

    >>> day = Cumulate(step=2, size=6)
    >>> [day.bounds(w) for w in range(-1, 4)]
    [(-6, 0), (0, 2), (0, 4), (0, 6), (6, 8)]
    >>> list(day.wids(Tuple(3)))
    [1, 2]
    """

    step: int
    size: int
    origin: int = 0

    def __post_init__(self) -> None:
        require_positive(step=self.step, size=self.size)
        if self.size % self.step:
            raise SettingError("the step does not divide the size", "the size must be a multiple of the step")

    def wids_at(self, time: int) -> Ids:
        """From the step that the tuple is in to the last one of its size."""
        t = time - self.origin
        return Ids(t // self.step, (t // self.size + 1) * self._steps)

    def spans(self, times: Times) -> tuple[Ints, Ints]:
        """`wids` of many times: the first and the last id of each."""
        t = times - self.origin
        return t // self.step, (t // self.size + 1) * self._steps - 1

    def bounds(self, wid: int, tuples: Sequence[Tuple] = ()) -> tuple[int, int]:  # noqa: D102
        return self.origin + wid // self._steps * self.size, self.origin + (wid + 1) * self.step

    def first_open(self, watermark: int) -> int:  # noqa: D102
        return (watermark - self.origin) // self.step

    @property
    def pane(self) -> int:
        """The step."""
        return self.step

    def panes(self, wid: int) -> Ids:  # noqa: D102
        return Ids(wid // self._steps * self._steps, wid + 1)

    def from_origin(self, origin: int) -> Self:  # noqa: D102
        return replace(self, origin=origin)

    @property
    def structure(self) -> Structure:  # noqa: D102
        return ("cumulate", self.step, self.size, self.origin)

    @property
    def text(self) -> str:
        """The step and the size.

        >>> Cumulate(2_000_000, 6_000_000).text
        'CUMULATE step 2 seconds, size 6 seconds'
        """
        return f"CUMULATE step {duration(self.step)}, size {duration(self.size)}{moved_to(self.origin)}"

    @property
    def noun(self) -> str:  # noqa: D102
        return "a cumulating window"

    @property
    def length(self) -> int | None:
        """The size: that of the last one before all start anew."""
        return self.size

    @property
    def _steps(self) -> int:
        return self.size // self.step
