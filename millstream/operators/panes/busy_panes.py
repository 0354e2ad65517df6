"""The panes that have tuples in any bucket: a landmark window answers only at the end of one of them."""

from __future__ import annotations

import numpy as np

from millstream.operators.blobs import Blobs
from millstream.windows.panes import Paned
from millstream.windows.tuples import Ints

BLOB = "busy"


class BusyPanes:
    """The busy panes of windows that are still open, in order. All buckets know the same ones.

    Landmark windows have no last one: to walk along the calendar from one tuple to the next could take for ever.
    """

    def __init__(self, window: Paned, blobs: Blobs) -> None:
        self._window = window
        self._blobs = blobs
        stored = blobs.get(BLOB)
        self.panes: Ints = np.frombuffer(stored, dtype=np.int64) if stored else np.zeros(0, dtype=np.int64)
        self._changed = False

    def add(self, panes: Ints) -> None:
        """Tuples came to some panes."""
        self._set(np.union1d(self.panes, panes))

    @property
    def wids(self) -> Ints:
        """The windows that end with these panes, in order."""
        return np.unique(self._firsts())

    def beats(self, every: int) -> Ints:
        """The first of the times origin + k * every after each of the panes, in order."""
        return np.unique(self._beats(every))

    def forget(self, until: int, every: int | None) -> None:
        """Let go of the panes of which nothing is to be said after a time: no window's end, and no beat of EMIT."""
        needed = self._firsts() >= self._window.first_open(until)
        if every is not None:
            needed |= self._beats(every) > until
        self._set(self.panes[needed])

    def save(self) -> None:
        """Write them, if they have changed."""
        if not self._changed:
            return
        self._changed = False
        if len(self.panes):
            self._blobs.put(BLOB, self.panes.tobytes())
        else:
            self._blobs.delete(BLOB)

    def _beats(self, every: int) -> Ints:
        starts = self.panes * self._window.pane
        beats: Ints = self._window.origin + (starts // every + 1) * every
        return beats

    def _firsts(self) -> Ints:
        return self._window.spans(self._window.origin + self.panes * self._window.pane)[0]

    def _set(self, panes: Ints) -> None:
        if len(panes) != len(self.panes):
            self.panes = panes
            self._changed = True
