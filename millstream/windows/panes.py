"""Windows made of panes: pieces of time that no window cuts, so that a tuple is aggregated once for all its windows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Self

from millstream.windows.contract import Window
from millstream.windows.tuples import Ids, Ints, Times, Tuple, expand_ids


class Paned(Window[int]):
    """Pane p is [origin + p * pane, origin + (p + 1) * pane); each window is a run of consecutive panes.

    Window ids are integers, and later ids end later. The end of a window is the first moment after it, and the data
    does not matter to where windows are.
    """

    origin: int

    @property
    def endless(self) -> bool:
        """Whether a pane stays in all windows from its first one on, so that none can ever be let go of."""
        return False

    @property
    def apart(self) -> bool:
        """Whether each window is one pane, which no other has."""
        return False

    @property
    @abstractmethod
    def pane(self) -> int:
        """The width of a pane."""

    @abstractmethod
    def from_origin(self, origin: int) -> Self:
        """The same windows, aligned to another time."""

    @abstractmethod
    def panes(self, wid: int) -> Ids:
        """The panes that make up the window."""

    @abstractmethod
    def bounds(self, wid: int, tuples: Sequence[Tuple] = ()) -> tuple[int | None, int]:
        """window_start, None if the window has none, and window_end."""

    @abstractmethod
    def spans(self, times: Times) -> tuple[Ints, Ints]:
        """`wids` of many times: the first and the last id of each; last < first where there is none."""

    @abstractmethod
    def first_open(self, watermark: int) -> int:
        """The first window with end > watermark."""

    @abstractmethod
    def wids_at(self, time: int) -> Ids:
        """The ids of the windows that a tuple of that time belongs to; of a landmark the first one."""

    @property
    def paned(self) -> Paned:
        """Always."""
        return self

    @property
    def depends_on_data(self) -> bool:
        """Never: windows are there wherever a tuple may be."""
        return False

    @property
    def depends_on_arrival(self) -> bool:
        """Never."""
        return False

    @property
    def end_inclusive(self) -> bool:
        """Never."""
        return False

    @property
    def reason_not_to_emit(self) -> str | None:
        """There is none: panes can be read at any time."""
        return None

    def by_arrival(self) -> Self:
        """The same: it is the clock that stamps tuples then, and nothing is ranked."""
        return self

    def wids(self, tuple_: Tuple, tuples: Sequence[Tuple] = ()) -> Sequence[int]:  # noqa: D102
        return self.wids_at(tuple_.time)

    def windows(self, tuples: Sequence[Tuple]) -> set[int]:  # noqa: D102
        return {w for t in tuples for w in self.wids(t)}

    def extent(self, wid: int, tuples: Sequence[Tuple]) -> list[Tuple]:
        """The tuples with start <= time < end."""
        start, end = self.bounds(wid)
        return [t for t in tuples if (start is None or start <= t.time) and t.time < end]

    def closed_by(self, wid: int, punctuation: int, tuples: Sequence[Tuple] = ()) -> bool:
        """Whether end <= punctuation."""
        return self.bounds(wid)[1] <= punctuation

    def assign(self, times: Times) -> tuple[Ints, Ints]:
        """Each time once per window that it belongs to, as (positions in times, window ids)."""
        return expand_ids(*self.spans(times))

    def wids_between(self, old: int, new: int) -> Ids:
        """The windows that close as the low-watermark moves: old < end <= new."""
        return Ids(self.first_open(old), self.first_open(new))

    def pane_of(self, times: Times) -> Ints:
        """The pane of each time."""
        return (times - self.origin) // self.pane

    def pane_start(self, pane: int) -> int:
        """The first time of the pane."""
        return self.origin + pane * self.pane

    def first_wid_of_pane(self, pane: int) -> int:
        """The first window that holds the pane; larger than the last if the pane lies in a gap."""
        return self.wids_at(self.pane_start(pane)).start

    def last_wid_of_pane(self, pane: int) -> int:
        """The last window that holds the pane."""
        return self.wids_at(self.pane_start(pane)).stop - 1

    def end_of_all(self, newest: int) -> int:
        """The end of the last window that has begun by a time: all that ends later has no tuple up to that time."""
        return self.bounds(self.wids_at(newest).stop - 1)[1]

    def last_needed_before(self, watermark: int) -> int:
        """The pane below which no open window needs any: the first pane of the first window with end > watermark."""
        return self.panes(self.first_open(watermark)).start
