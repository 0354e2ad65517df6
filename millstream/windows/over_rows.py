"""Frames of OVER that are cut by the number of tuples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from millstream.structure import Structure
from millstream.windows.over import Frames, Over, current_tuple, require_not_negative
from millstream.windows.tuples import Ints, Keys, Order, Times, Tuple, arranged, ordered, require_positive
from millstream.windows.words import preceding


@dataclass(frozen=True)
class OverRows(Over):
    """The frame of the tuple of rank r in its key is the ranks [r - preceding, r]: ROWS n PRECEDING; None is UNBOUNDED.

    Ranks follow the time stamps, ties the numbers of the tuples; with order "row", for latent streams, the arrival
    alone. With a slide of m only the m-th, 2m-th, ... tuples of the key answer.

    >>> tuples = [Tuple(0, 1), Tuple(20, 2), Tuple(10, 3)]
    >>> [t.row for t in OverRows(1).extent(2, tuples)]
    [3, 2]
    >>> OverRows(1, slide=2).windows(tuples)
    {3}
    """

    preceding: int | None
    slide: int = 1
    order: Order = "rank"

    def __post_init__(self) -> None:
        require_not_negative(self.preceding)
        require_positive(slide=self.slide)

    def frame(self, current: Tuple, tuples: Sequence[Tuple]) -> list[Tuple]:
        """The tuple and those before it."""
        partition = self._partition(current, tuples)
        rank = partition.index(current)
        first = 0 if self.preceding is None else max(rank - self.preceding, 0)
        return partition[first : rank + 1]

    def answers(self, current: Tuple, tuples: Sequence[Tuple]) -> bool:
        """Whether the tuple is a multiple of the slide, counted from 1."""
        return (self._partition(current, tuples).index(current) + 1) % self.slide == 0

    def frames(self, times: Times, rows: Ints, keys: Keys | None = None) -> Frames:  # noqa: D102
        order, ranks = arranged(times, rows, keys, self.order)
        current = np.flatnonzero((ranks + 1) % self.slide == 0)
        back = ranks if self.preceding is None else np.minimum(ranks, self.preceding)
        return Frames(order, current, current - back[current], current)

    def closed_by(self, wid: int, punctuation: int, tuples: Sequence[Tuple] = ()) -> bool:
        """Whether t < punctuation: a tuple of the same time may still rank before it. In arrival order: at once."""
        current = current_tuple(wid, tuples)
        return current is not None and (self.order == "row" or current.time < punctuation)

    @property
    def structure(self) -> Structure:  # noqa: D102
        return ("over rows", self.preceding, self.slide, self.order)

    @property
    def text(self) -> str:
        """As it is written.

        >>> OverRows(9, slide=10).text, OverRows(None).text
        ('ROWS 9 PRECEDING SLIDE 10', 'ROWS UNBOUNDED PRECEDING')
        """
        return f"ROWS {preceding(self.preceding, str)}" + (f" SLIDE {self.slide}" if self.slide > 1 else "")

    @property
    def noun(self) -> str:  # noqa: D102
        return "a frame of rows"

    @property
    def depends_on_arrival(self) -> bool:
        """Always: tuples of one time have different ranks."""
        return True

    def by_arrival(self) -> Self:
        """With the order "row"."""
        return replace(self, order="row")

    def stamped_by(self, column: str | None) -> Self:
        """The same: no tuple leaves as time goes by."""
        return self

    @property
    def reach(self) -> int | None:
        """The number of tuples before the current one."""
        return self.preceding

    @property
    def by_time(self) -> bool:
        """Never."""
        return False

    @property
    def ranked_by(self) -> Order:
        """The order."""
        return self.order

    @property
    def every(self) -> int:
        """The slide."""
        return self.slide

    @property
    def slots(self) -> None:
        """The slide counts tuples."""
        return None

    def _partition(self, current: Tuple, tuples: Sequence[Tuple]) -> list[Tuple]:
        return ordered((t for t in tuples if t.key == current.key), self.order)
