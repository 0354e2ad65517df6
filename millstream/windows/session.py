"""Sessions: tuples of one key without a long gap between them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from millstream.structure import Structure
from millstream.windows.contract import Window
from millstream.windows.tuples import Keys, Times, Tuple, codes, ordered, require_positive
from millstream.windows.words import duration

SessionId = tuple[Hashable, int]
"""The key of a session, and its start."""


@dataclass(frozen=True)
class Session(Window[SessionId]):
    """Window (key, start) is [start, end): start is its first time, end its last time + gap.

    Two consecutive tuples of a key are in one session if and only if their distance < gap. At exactly the gap a new
    session starts, for the older one, half-open, has ended there: so does Calcite, while Flink merges windows that
    touch. Not in [Li 2008].

    >>> visits = Session(gap=10)
    >>> tuples = [Tuple(0, 1, "a"), Tuple(9, 2, "a"), Tuple(19, 3, "a"), Tuple(5, 4, "b")]
    >>> sorted(visits.windows(tuples))
    [('a', 0), ('a', 19), ('b', 5)]
    >>> visits.bounds(("a", 0), tuples)
    (0, 19)
    """

    gap: int

    def __post_init__(self) -> None:
        require_positive(gap=self.gap)

    def windows(self, tuples: Sequence[Tuple]) -> set[SessionId]:  # noqa: D102
        return {(key, chain[0].time) for key in {t.key for t in tuples} for chain in self._chains(key, tuples)}

    def extent(self, wid: SessionId, tuples: Sequence[Tuple]) -> list[Tuple]:
        """The longest chain of the key's tuples from start, each less than the gap after the one before."""
        key, start = wid
        return next((chain for chain in self._chains(key, tuples) if chain[0].time == start), [])

    def wids(self, tuple_: Tuple, tuples: Sequence[Tuple] = ()) -> set[SessionId]:
        """The one session whose start is reached going back from the tuple in steps of less than the gap."""
        start = tuple_.time
        for time in sorted((t.time for t in tuples if t.key == tuple_.key and t.time < start), reverse=True):
            if start - time >= self.gap:
                break
            start = time
        return {(tuple_.key, start)}

    def assign(self, times: Times, keys: Keys | None = None) -> tuple[Times, Times]:
        """The start and the end of each tuple's session.

        >>> starts, ends = Session(gap=10).assign(np.array([19, 0, 9]))
        >>> starts.tolist(), ends.tolist()
        ([19, 0, 0], [29, 19, 19])
        """
        key = codes(keys, len(times))
        order = np.lexsort((times, key))
        time, key = times[order], key[order]
        opens = np.ones(len(times), dtype=bool)
        opens[1:] = (np.diff(time) >= self.gap) | (np.diff(key) != 0)
        session = np.cumsum(opens) - 1
        starts, ends = np.empty_like(times), np.empty_like(times)
        starts[order] = time[opens][session]
        ends[order] = (time[np.roll(opens, -1)] + self.gap)[session]
        return starts, ends

    def bounds(self, wid: SessionId, tuples: Sequence[Tuple] = ()) -> tuple[int, int]:
        """Start, and the last time + gap; as of a single tuple while the session has none."""
        start = wid[1]
        return start, max((t.time for t in self.extent(wid, tuples)), default=start) + self.gap

    def closed_by(self, wid: SessionId, punctuation: int, tuples: Sequence[Tuple] = ()) -> bool:
        """Whether end <= punctuation."""
        return self.bounds(wid, tuples)[1] <= punctuation

    @property
    def structure(self) -> Structure:  # noqa: D102
        return ("session", self.gap)

    @property
    def text(self) -> str:
        """The gap.

        >>> Session(600_000_000).text
        'SESSION gap 10 minutes'
        """
        return f"SESSION gap {duration(self.gap)}"

    @property
    def noun(self) -> str:  # noqa: D102
        return "a session"

    @property
    def depends_on_data(self) -> bool:
        """Always: tuples keep a session going."""
        return True

    @property
    def depends_on_arrival(self) -> bool:
        """Never: tuples of one time are in one session."""
        return False

    @property
    def end_inclusive(self) -> bool:
        """Never: it ends a gap after its last tuple."""
        return False

    @property
    def length(self) -> int | None:
        """A session may go on for ever."""
        return None

    @property
    def reason_not_to_emit(self) -> str | None:
        """A partial answer could be wrong, and not only early."""
        return "the answer of a session could be taken back: sessions grow together when a tuple comes between them"

    @property
    def paned(self) -> None:
        """Its windows begin at any time."""
        return None

    def by_arrival(self) -> Self:
        """The same: it is the clock that stamps tuples then, and nothing is ranked."""
        return self

    def _chains(self, key: Hashable, tuples: Sequence[Tuple]) -> list[list[Tuple]]:
        chains: list[list[Tuple]] = []
        for t in ordered(t for t in tuples if t.key == key):
            if chains and t.time - chains[-1][-1].time < self.gap:
                chains[-1].append(t)
            else:
                chains.append([t])
        return chains
