"""Windows with finer panes than they need, so that EMIT can read them in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Self

from millstream.structure import Structure
from millstream.windows.panes import Paned
from millstream.windows.tuples import Ids, Ints, Times, Tuple


@dataclass(frozen=True)
class FinerPanes(Paned):
    """The windows of `coarse`, with the same ids, in panes that neither they nor the times origin + k * every cut.

    >>> from millstream.windows.sliding import Sliding
    >>> fine = FinerPanes(Sliding(range=20, slide=10, origin=3), every=4)
    >>> fine.pane, fine.panes(1), fine.bounds(1)
    (2, range(5, 15), (13, 33))
    """

    coarse: Paned
    every: int

    @property
    def origin(self) -> int:  # type: ignore[override]
        """That of the windows."""
        return self.coarse.origin

    @property
    def endless(self) -> bool:  # noqa: D102
        return self.coarse.endless

    @property
    def pane(self) -> int:
        """The greatest common divisor of their panes and `every`."""
        return gcd(self.coarse.pane, self.every)

    def panes(self, wid: int) -> Ids:  # noqa: D102
        coarse, parts = self.coarse.panes(wid), self._parts
        return Ids(coarse.start * parts, coarse.stop * parts)

    def bounds(self, wid: int, tuples: Sequence[Tuple] = ()) -> tuple[int | None, int]:  # noqa: D102
        return self.coarse.bounds(wid, tuples)

    def spans(self, times: Times) -> tuple[Ints, Ints]:  # noqa: D102
        return self.coarse.spans(times)

    def first_open(self, watermark: int) -> int:  # noqa: D102
        return self.coarse.first_open(watermark)

    def wids_at(self, time: int) -> Ids:  # noqa: D102
        return self.coarse.wids_at(time)

    def wids(self, tuple_: Tuple, tuples: Sequence[Tuple] = ()) -> Sequence[int]:  # noqa: D102
        return self.coarse.wids(tuple_, tuples)

    def windows(self, tuples: Sequence[Tuple]) -> set[int]:  # noqa: D102
        return self.coarse.windows(tuples)

    def first_wid_of_pane(self, pane: int) -> int:  # noqa: D102
        return self.coarse.first_wid_of_pane(pane // self._parts)

    def last_wid_of_pane(self, pane: int) -> int:  # noqa: D102
        return self.coarse.last_wid_of_pane(pane // self._parts)

    def from_origin(self, origin: int) -> Self:  # noqa: D102
        return replace(self, coarse=self.coarse.from_origin(origin))

    @property
    def text(self) -> str:
        """That of the windows."""
        return self.coarse.text

    @property
    def noun(self) -> str:  # noqa: D102
        return self.coarse.noun

    @property
    def structure(self) -> Structure:  # noqa: D102
        return ("refined", self.coarse.structure, self.every)

    @property
    def length(self) -> int | None:  # noqa: D102
        return self.coarse.length

    @property
    def _parts(self) -> int:
        return self.coarse.pane // self.pane
