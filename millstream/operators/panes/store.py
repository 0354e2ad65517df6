"""The panes of a bucket and the keys in them: a blob per pane, and a log of keys."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from millstream.aggregates.contract import take
from millstream.operators.blobs import Blobs, from_bytes, to_bytes
from millstream.operators.key_index import KeyIndex
from millstream.operators.panes.lazy_panes import Added, Panes, shortened, together
from millstream.operators.panes.states import (
    NUMBER,
    Pane,
    Rows,
    grown,
    pack_present,
    pack_together,
    unpack_present,
    unpack_together,
)
from millstream.operators.window_aggregate_job import WindowAggregateJob

ALONE, TOGETHER = "pane/", "panes/"

COMPACT_FROM = 4096
"""Below so many keys, those that have gone are not worth a clean-up."""

SMALL = 1 << 16
"""A pane of fewer bytes is written as a whole."""

GROWTH = 2
"""What was added to a pane may have so many times the bytes of the pane, before all is written anew."""

MOST_PARTS = 100
"""And so many blobs."""


@dataclass
class _Written:
    """What has been written of a pane that may still change: the bytes of the whole, and of parts that came later.

    If a pane begins with parts, the first of them stands for the whole.
    """

    whole: int = 0
    parts: list[str] = field(default_factory=list)
    later: int = 0

    def takes(self, size: int) -> bool:
        """Whether another part of so many bytes is better than the whole once more."""
        if not self.whole:
            return size > SMALL
        return self.whole > SMALL and self.later + size <= GROWTH * self.whole and len(self.parts) < MOST_PARTS

    def add(self, name: str, size: int) -> None:
        """Take note of another part."""
        self.parts.append(name)
        if self.whole:
            self.later += size
        else:
            self.whole = size


class PaneStore:
    """Panes by number. They are written at the end of a batch, and only those that were added to.

    A pane that may still change has a blob of its own, `pane/<number>`. What a batch adds to a large one is written
    alone, to `pane/<number>~<count>`, until that is more than the pane itself. Panes that were settled within one batch
    go into one blob together, `panes/<first>-<last>`: with small panes the number of blobs is what costs. Such a blob
    goes with the last of its panes; until then it may hold some that are gone, which whoever reads it must know.
    """

    def __init__(self, work: WindowAggregateJob, blobs: Blobs, index: KeyIndex | None = None) -> None:
        """With the keys of another store, if an `index` of them is given."""
        self._work = work
        self._blobs = blobs
        typed = [type_ for _, type_ in work.keys]
        self.index = KeyIndex(work.key_names, typed, blobs, "keys/") if index is None else index
        self.panes = Panes(work, self.index)
        self._places: dict[int, str] = {}
        self._members: dict[str, set[int]] = {}
        for name, blob in blobs.scan(TOGETHER):
            self._hold(name, unpack_together(work, from_bytes(blob)))
        self._written: dict[int, _Written] = {}
        parts: list[tuple[int, int, str, pa.Table]] = []
        for name, blob in blobs.scan(ALONE):  # what was written alone came after what was written together
            pane, _, count = name.removeprefix(ALONE).partition("~")
            table = from_bytes(blob)
            if count:
                parts.append((int(pane), int(count), name, table))
            else:
                self._hold(name, {int(pane): unpack_present(work, table)})
                self._written[int(pane)] = _Written(table.nbytes)
        for number, _, name, table in sorted(parts, key=lambda part: part[:2]):
            self.panes.add(number, Added(table[NUMBER].to_numpy().astype(np.int64), table.drop_columns(NUMBER)))
            self._written.setdefault(number, _Written()).add(name, table.nbytes)
        self._fresh: dict[int, list[Added] | None] = {}

    @property
    def keys(self) -> pa.Table:
        """The keys by number."""
        return self.index.keys

    def add(self, pane: int, rows: Rows, states: pa.Table) -> None:
        """Add packed states of some keys to a pane."""
        added = Added(rows, states)
        self.panes.add(pane, added)
        fresh = self._fresh.setdefault(pane, [])
        if fresh is not None:
            fresh.append(added)

    def put(self, pane: int, states: Pane) -> None:
        """Keep a pane."""
        self.panes[pane] = states
        self._fresh[pane] = None

    def drop(self, pane: int) -> None:
        """Let go of a pane."""
        del self.panes[pane]
        self._fresh.pop(pane, None)
        self._forget_written(pane)
        self._move(pane, None)

    def write(self, settled: int | None) -> None:
        """Write the panes that have changed; those before `settled` will not change again."""
        known = self._places.keys() | self._written.keys()
        new = [p for p in self._fresh if settled is not None and p < settled and p not in known]
        if len(new) > 1:
            name = f"{TOGETHER}{min(new)}-{max(new)}"
            self._blobs.put(name, to_bytes(pack_together(self._work, {p: self.panes[p] for p in new})))
            for pane in new:
                self._move(pane, name)
                del self._fresh[pane]
        for pane, fresh in sorted(self._fresh.items()):
            self._write(pane, fresh)
        self._fresh.clear()

    def _write(self, pane: int, fresh: list[Added] | None) -> None:
        """Write what was added to a pane, or all of it, if that is not much more; None: all has changed."""
        name, written = f"{ALONE}{pane}", self._written.get(pane, _Written())
        if fresh is not None:
            rows, states = shortened(self._work, together(fresh))
            part = states.append_column(NUMBER, pa.array(rows, pa.int32()))
            if written.takes(part.nbytes):
                place = f"{name}~{len(written.parts)}"
                self._blobs.put(place, to_bytes(part))
                written.add(place, part.nbytes)
                self._written[pane] = written
                return
        self._forget_written(pane)
        whole = pack_present(self._work, self.panes[pane])
        self._blobs.put(name, to_bytes(whole))
        self._written[pane] = _Written(whole.nbytes)
        self._move(pane, name)

    def _forget_written(self, pane: int) -> None:
        for part in self._written.pop(pane, _Written()).parts:
            self._blobs.delete(part)

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
        for pane in self.panes:
            self.panes.mark(pane, live)
        if live.sum() * 2 > size:
            return False
        keep = np.flatnonzero(live)
        whole = {pane: self._grown(states, size) for pane, states in self.panes.items()}
        self.index.replace(keep)
        for pane, states in whole.items():
            self.put(pane, tuple(take(s, keep) for s in states))
        return True

    def _grown(self, states: Pane, size: int) -> Pane:
        return tuple(grown(call.aggregate, s, size) for call, s in zip(self._work.calls, states, strict=True))
