"""Window aggregates by panes: partial states are merged into panes, and closed windows are read from them."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.aggregates.contract import State, put, take
from millstream.operators.blobs import Blobs, from_bytes, to_bytes
from millstream.operators.grouped import PANE, Grouped
from millstream.operators.key_index import KeyIndex
from millstream.operators.two_stacks import TwoStacks
from millstream.progress.punctuation import Punctuation

START, END = "window_start", "window_end"
STAMP = pa.timestamp("us", tz="UTC")
COMPACT_FROM = 4096
"""Below so many keys, those that have gone are not worth a clean-up."""

Pane = tuple[State, ...]
"""The states of all calls for all keys, in one pane."""


class PanedAggregate:
    """One bucket of a grouped window aggregate. State is a blob per pane; a closed pane is never written again."""

    def __init__(self, work: Grouped, blobs: Blobs) -> None:
        self._work = work
        self._blobs = blobs
        names = work.key_names
        self._index = KeyIndex(names, [t for _, t in work.keys], blobs, "keys/")
        self._panes: dict[int, Pane] = {
            int(name.removeprefix("pane/")): self._unpack(from_bytes(blob)) for name, blob in blobs.scan("pane/")
        }
        record = blobs.get("progress")
        self.low_watermark: int | None = json.loads(record)["low_watermark"] if record else None
        self._queue: TwoStacks[Pane] = TwoStacks(self._merge)

    def process(self, partials: pa.Table) -> int:
        """Merge partial states into the panes they belong to; says how many tuples came too late for theirs."""
        late = 0
        if self.low_watermark is not None:
            closed = partials[PANE].to_numpy() < self._work.window.pane_of(np.array([self.low_watermark]))[0]
            if closed.any():
                late = int(self._unpack(partials.filter(pa.array(closed)))[0][0].sum())
                partials = partials.filter(pa.array(~closed))
        if not partials.num_rows:
            return late
        rows = self._index.find(partials)
        panes = partials[PANE].to_numpy()
        incoming = self._unpack(partials)
        order = np.argsort(panes, kind="stable")
        cuts = np.flatnonzero(np.diff(panes[order])) + 1
        for part in np.split(order, cuts):
            self._add(int(panes[part[0]]), rows[part], tuple(take(s, part) for s in incoming))
        return late

    def punctuate(self, punctuation: Punctuation) -> Iterator[pa.Table]:
        """The answers of all windows that are complete now, oldest first; each comes exactly once."""
        window = self._work.window
        until = self._end_of_all() if punctuation.final else punctuation.time
        if until is None or (self.low_watermark is not None and until <= self.low_watermark):
            return
        unseen = deque(sorted(p for p in self._panes if self._unseen(p)))
        for wid in self._due(until):
            panes = window.panes(wid)
            while unseen and unseen[0] < panes.stop:
                pane = unseen.popleft()
                if pane >= panes.start:
                    self._queue.push(pane, self._panes[pane])
            self._queue.evict(panes.start)
            total = self._queue.total()
            if total is not None:
                yield self._answers(wid, total)
        self.low_watermark = until
        self._blobs.put("progress", json.dumps({"low_watermark": until}).encode())
        self._forget(until)

    # -- panes ---------------------------------------------------------------------------------------------

    def _add(self, pane: int, rows: npt.NDArray[np.int64], incoming: Pane) -> None:
        size = len(self._index)
        states = self._padded(self._panes[pane], size) if pane in self._panes else self._zero(size)
        for call, state, new in zip(self._work.calls, states, incoming, strict=True):
            put(state, rows, call.aggregate.merge(take(state, rows), new))
        self._panes[pane] = states
        self._blobs.put(f"pane/{pane}", to_bytes(self._pack(states)))

    def _zero(self, size: int) -> Pane:
        return tuple(call.aggregate.zero(size) for call in self._work.calls)

    def _padded(self, states: Pane, size: int) -> Pane:
        """The states with room for keys that came later; always fresh arrays, which may be written to."""
        missing = size - len(states[0][0])
        padded = []
        for call, state in zip(self._work.calls, states, strict=True):
            rest = call.aggregate.zero(missing)
            padded.append(tuple(np.concatenate([a, b]) for a, b in zip(state, rest, strict=True)))
        return tuple(padded)

    def _merge(self, left: Pane, right: Pane) -> Pane:
        size = max(len(left[0][0]), len(right[0][0]))
        left = left if len(left[0][0]) == size else self._padded(left, size)
        right = right if len(right[0][0]) == size else self._padded(right, size)
        return tuple(c.aggregate.merge(a, b) for c, a, b in zip(self._work.calls, left, right, strict=True))

    def _pack(self, states: Pane) -> pa.Table:
        data: dict[str, pa.Array] = {}
        for number, (call, state) in enumerate(zip(self._work.calls, states, strict=True)):
            data.update(zip(self._work.state_names(number), call.aggregate.pack(state), strict=True))
        return pa.table(data)

    def _unpack(self, table: pa.Table) -> Pane:
        return tuple(
            call.aggregate.unpack([table[name].combine_chunks() for name in self._work.state_names(number)])
            for number, call in enumerate(self._work.calls)
        )

    # -- windows -------------------------------------------------------------------------------------------

    def _due(self, until: int) -> list[int]:
        """The windows with at least one pane that end after the old low-watermark and not after the new one."""
        window = self._work.window
        due: list[int] = []
        following = None if self.low_watermark is None else window.first_open(self.low_watermark)
        before = window.first_open(until)
        for pane in sorted(self._panes):  # later panes have later windows, so that each is met once
            first = window.first_wid_of_pane(pane)
            first = first if following is None else max(first, following)
            following = max(first, min(before, window.last_wid_of_pane(pane) + 1))
            due.extend(range(first, following))
        return due

    def _unseen(self, pane: int) -> bool:
        return self._queue.newest is None or pane > self._queue.newest

    def _end_of_all(self) -> int | None:
        """The end of the last window that any pane belongs to: where a final punctuation leads."""
        window = self._work.window
        return max((window.bounds(window.last_wid_of_pane(pane))[1] for pane in self._panes), default=None)

    def _answers(self, wid: int, total: Pane) -> pa.Table:
        present = np.flatnonzero(total[0][0] > 0)
        start, end = self._work.window.bounds(wid)
        data = {name: self._index.keys[name].take(pa.array(present)) for name in self._work.key_names}
        for call, state in zip(self._work.calls, total, strict=True):
            if call.names:
                data.update(dict.fromkeys(call.names, call.aggregate.finish(take(state, present))))
        data[START] = pa.array(np.full(len(present), start), STAMP)
        data[END] = pa.array(np.full(len(present), end), STAMP)
        return pa.table(data)

    # -- letting go ----------------------------------------------------------------------------------------

    def _forget(self, until: int) -> None:
        window = self._work.window
        needed = window.last_needed_before(until)
        for pane in [p for p in self._panes if p < needed]:
            del self._panes[pane]
            self._blobs.delete(f"pane/{pane}")
        self._compact()

    def _compact(self) -> None:
        """Forget the keys that are in no pane any more, once they are the greater part."""
        size = len(self._index)
        if size < COMPACT_FROM or not self._work.keys:
            return
        live = np.zeros(size, dtype=bool)
        for states in self._panes.values():
            counts = states[0][0]
            live[: len(counts)] |= counts > 0
        if live.sum() * 2 > size:
            return
        keep = np.flatnonzero(live)
        self._index.replace(keep)
        for pane, states in self._panes.items():
            padded = self._padded(states, size)
            self._panes[pane] = tuple(take(s, keep) for s in padded)
            self._blobs.put(f"pane/{pane}", to_bytes(self._pack(self._panes[pane])))
        self._queue = TwoStacks(self._merge)
