"""The panes of a bucket and the keys in them: a blob per pane, and a log of keys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from millstream.aggregates.contract import put, take
from millstream.operators.blobs import Blobs, from_bytes, to_bytes
from millstream.operators.grouped import Grouped
from millstream.operators.key_index import KeyIndex
from millstream.operators.pane_states import (
    Pane,
    Rows,
    change_present,
    grown,
    pack_present,
    pack_some,
    pack_together,
    unpack_present,
    unpack_together,
    zeros,
)

ALONE, TOGETHER = "pane/", "panes/"

COMPACT_FROM = 4096
"""Below so many keys, those that have gone are not worth a clean-up."""


MANY = 4096
"""A pane with fewer keys is written as a whole."""


class Change(NamedTuple):
    """A blob with some keys of a pane, and how many."""

    name: str
    rows: int


class PaneStore:
    """Panes by number. They are written at the end of a batch, and only those that were added to.

    A pane that may still change has a blob of its own, `pane/<number>`. If a batch changes few of its keys, these are
    written alone, to `pane/<number>+<count>`, until they are as many as the pane has. Panes that were settled within
    one batch go into one blob together, `panes/<first>-<last>`: with small panes the number of blobs is what costs.
    Such a blob goes with the last of its panes; until then it may hold some that are gone, which whoever reads it must
    know.
    """

    def __init__(self, work: Grouped, blobs: Blobs) -> None:
        self._work = work
        self._blobs = blobs
        self.index = KeyIndex(work.key_names, [t for _, t in work.keys], blobs, "keys/")
        self.panes: dict[int, Pane] = {}
        self._places: dict[int, str] = {}
        self._members: dict[str, set[int]] = {}
        for name, blob in blobs.scan(TOGETHER):
            self._hold(name, unpack_together(work, from_bytes(blob)))
        self._changes: dict[int, list[Change]] = {}
        changes: list[tuple[int, int, str, pa.Table]] = []
        for name, blob in blobs.scan(ALONE):  # what was written alone came after what was written together
            pane, _, count = name.removeprefix(ALONE).partition("+")
            if count:
                changes.append((int(pane), int(count), name, from_bytes(blob)))
            else:
                self._hold(name, {int(pane): unpack_present(work, from_bytes(blob))})
        for number, _, name, table in sorted(changes, key=lambda change: change[:2]):
            self.panes[number] = change_present(work, self.panes[number], table)
            self._changes.setdefault(number, []).append(Change(name, table.num_rows))
        self._changed: dict[int, list[Rows] | None] = {}

    @property
    def keys(self) -> pa.Table:
        """The keys by number."""
        return self.index.keys

    def add(self, pane: int, rows: Rows, incoming: Pane) -> Pane | None:
        """Merge states of some keys into a pane; gives the pane as it was before, None if it is new."""
        size = len(self.index)
        before = self.panes.get(pane)
        states = zeros(self._work.calls, size) if before is None else self._grown(before, size)
        for call, state, new in zip(self._work.calls, states, incoming, strict=True):
            put(state, rows, call.aggregate.merge(take(state, rows), new))
        self.panes[pane] = states
        changed = self._changed.setdefault(pane, [] if before is not None else None)
        if changed is not None:
            changed.append(rows)
        return before

    def put(self, pane: int, states: Pane) -> None:
        """Keep a pane."""
        self.panes[pane] = states
        self._changed[pane] = None

    def drop(self, pane: int) -> None:
        """Let go of a pane."""
        del self.panes[pane]
        self._changed.pop(pane, None)
        self._forget_changes(pane)
        self._move(pane, None)

    def write(self, settled: int | None) -> None:
        """Write the panes that have changed; those before `settled` will not change again."""
        new = [p for p in self._changed if settled is not None and p < settled and p not in self._places]
        if len(new) > 1:
            name = f"{TOGETHER}{min(new)}-{max(new)}"
            self._blobs.put(name, to_bytes(pack_together(self._work, {p: self.panes[p] for p in new})))
            for pane in new:
                self._move(pane, name)
                del self._changed[pane]
        for pane, changed in sorted(self._changed.items()):
            self._write(pane, changed)
        self._changed.clear()

    def _write(self, pane: int, changed: list[Rows] | None) -> None:
        """Write what has changed of a pane, or all of it, if that is not much more; None: all has."""
        states, name = self.panes[pane], f"{ALONE}{pane}"
        if changed is not None and self._places.get(pane) == name:
            rows = np.unique(np.concatenate(changed))
            earlier = self._changes.setdefault(pane, [])
            size = len(states[0][0])
            if size >= MANY and 2 * (len(rows) + sum(change.rows for change in earlier)) < size:
                change = Change(f"{name}+{len(earlier)}", len(rows))
                self._blobs.put(change.name, to_bytes(pack_some(self._work, states, rows)))
                earlier.append(change)
                return
        self._forget_changes(pane)
        self._blobs.put(name, to_bytes(pack_present(self._work, states)))
        self._move(pane, name)

    def _forget_changes(self, pane: int) -> None:
        for change in self._changes.pop(pane, ()):
            self._blobs.delete(change.name)

    def _hold(self, name: str, panes: dict[int, Pane]) -> None:
        self.panes.update(panes)
        for pane in panes:
            self._move(pane, name)

    def _move(self, pane: int, name: str | None) -> None:
        """Note that a pane is in another blob now, or in none; a blob that nobody is in any more is deleted."""
        old = self._places.pop(pane, None)
        if name is not None:
            self._places[pane] = name
            self._members.setdefault(name, set()).add(pane)
        if old is not None and old != name:
            self._members[old].discard(pane)
            if not self._members[old]:
                del self._members[old]
                self._blobs.delete(old)

    def compact(self) -> bool:
        """Forget the keys that are in no pane any more, once they are the greater part; says whether it did."""
        size = len(self.index)
        if size < COMPACT_FROM or not self._work.keys:
            return False
        live = np.zeros(size, dtype=bool)
        for states in self.panes.values():
            counts = states[0][0]
            live[: len(counts)] |= counts > 0
        if live.sum() * 2 > size:
            return False
        keep = np.flatnonzero(live)
        self.index.replace(keep)
        for pane, states in list(self.panes.items()):
            self.put(pane, tuple(take(s, keep) for s in self._grown(states, size)))
        return True

    def _grown(self, states: Pane, size: int) -> Pane:
        return tuple(grown(call.aggregate, s, size) for call, s in zip(self._work.calls, states, strict=True))
