"""Windows of rows: so many tuples, by their rank in the stream or in their partition."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from millstream.structure import Structure
from millstream.windows.contract import Window
from millstream.windows.emit import COMPLETED_BY_A_TUPLE
from millstream.windows.tuples import Ints, Keys, Order, Times, Tuple, arranged, expand_ids, ordered, require_positive
from millstream.windows.words import rows

RowsId = int | tuple[int, Hashable]
"""The number of a window; with the key of its partition if there are partitions."""


@dataclass(frozen=True)
class Rows(Window[RowsId]):
    """Window i has the ranks [(i + 1) * slide - range, (i + 1) * slide), counted from 0, for i >= 0.

    These are the windows of [Li 2008, Eq. 5.4 to 5.6].

    Ends are aligned, so that there is an answer after every slide; the first windows may be partial. Partitioned, each
    key has its own ranks and the id is (i, key). Ranks follow the time stamps, ties the numbers of the
    tuples; with order "row", for latent streams, the arrival alone.

    >>> last_three = Rows(range=3, slide=2)
    >>> tuples = [Tuple(10, 1), Tuple(40, 2), Tuple(20, 3), Tuple(30, 4)]
    >>> [[t.time for t in last_three.extent(i, tuples)] for i in range(3)]
    [[10, 20], [20, 30, 40], [40]]
    >>> sorted(last_three.wids(tuples[2], tuples))
    [0, 1]
    """

    range: int
    slide: int
    partitioned: bool = False
    order: Order = "rank"

    def __post_init__(self) -> None:
        require_positive(range=self.range, slide=self.slide)

    def windows(self, tuples: Sequence[Tuple]) -> set[RowsId]:  # noqa: D102
        return {w for t in tuples for w in self.wids(t, tuples)}

    def extent(self, wid: RowsId, tuples: Sequence[Tuple]) -> list[Tuple]:
        """The tuples of the partition with (i + 1) * slide - range <= rank < (i + 1) * slide (Eq. 5.5)."""
        index, key = self._parts(wid)
        end = (index + 1) * self.slide
        return self._partition(key, tuples)[max(end - self.range, 0) : max(end, 0)]

    def wids(self, tuple_: Tuple, tuples: Sequence[Tuple] = ()) -> set[RowsId]:
        """The i with floor(rank / slide) <= i < floor((rank + range) / slide) (Eq. 5.6)."""
        rank = self._partition(tuple_.key, tuples).index(tuple_)
        indexes = range(rank // self.slide, (rank + self.range) // self.slide)
        return {(i, tuple_.key) if self.partitioned else i for i in indexes}

    def spans(self, ranks: Ints) -> tuple[Ints, Ints]:
        """`wids` of many ranks: the first and the last number i of each; last < first where there is none."""
        return ranks // self.slide, (ranks + self.range) // self.slide - 1

    def assign(self, times: Times, rows: Ints, keys: Keys | None = None) -> tuple[Ints, Ints]:
        """Each tuple once per window that it belongs to, as (positions, numbers i); keys count if partitioned."""
        order, ranks = arranged(times, rows, keys if self.partitioned else None, self.order)
        positions, indexes = expand_ids(*self.spans(ranks))
        return order[positions], indexes

    def bounds(self, wid: RowsId, tuples: Sequence[Tuple] = ()) -> tuple[int | None, int | None]:
        """The first and the last time in the window, both inclusive; None if it is empty."""
        times = [t.time for t in self.extent(wid, tuples)]
        return min(times, default=None), max(times, default=None)

    def closed_by(self, wid: RowsId, punctuation: int, tuples: Sequence[Tuple] = ()) -> bool:
        """Whether (i + 1) * slide tuples of the partition have their rank for good.

        That is when time < punctuation, for a tuple of the same time may still rank before it; in arrival order, at
        once.
        """
        index, key = self._parts(wid)
        final = [t for t in self._partition(key, tuples) if self.order == "row" or t.time < punctuation]
        return len(final) >= (index + 1) * self.slide

    @property
    def structure(self) -> Structure:  # noqa: D102
        return ("rows", self.range, self.slide, self.partitioned, self.order)

    @property
    def text(self) -> str:
        """As it is written.

        >>> Rows(10, 1).text
        'RANGE 10 rows, SLIDE 1 row'
        """
        return f"RANGE {rows(self.range)}, SLIDE {rows(self.slide)}"

    @property
    def noun(self) -> str:  # noqa: D102
        return "a window of rows"

    @property
    def depends_on_data(self) -> bool:
        """Always: tuples are counted."""
        return True

    @property
    def depends_on_arrival(self) -> bool:
        """Always: tuples of one time have different ranks."""
        return True

    @property
    def end_inclusive(self) -> bool:
        """Always: the end is the time of a tuple."""
        return True

    @property
    def length(self) -> int | None:
        """So many tuples may take any time."""
        return None

    @property
    def reason_not_to_emit(self) -> str | None:  # noqa: D102
        return COMPLETED_BY_A_TUPLE

    @property
    def paned(self) -> None:
        """It is made of ranks."""
        return None

    def by_arrival(self) -> Self:
        """With the order "row"."""
        return replace(self, order="row")

    def _parts(self, wid: RowsId) -> tuple[int, Hashable]:
        return wid if isinstance(wid, tuple) else (wid, None)

    def _partition(self, key: Hashable, tuples: Sequence[Tuple]) -> list[Tuple]:
        return ordered((t for t in tuples if not self.partitioned or t.key == key), self.order)
