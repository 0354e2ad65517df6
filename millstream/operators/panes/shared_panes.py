"""Windows of different range and slide over the same panes: tuples are aggregated once, and each window reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.operators.blobs import Blobs
from millstream.operators.contract import Operator
from millstream.operators.panes.both_panes import BothPanes
from millstream.operators.panes.finer_panes import FinerPanes
from millstream.operators.panes.paned_aggregate import PanedAggregate
from millstream.operators.panes.states import unpack
from millstream.operators.panes.store import PaneStore
from millstream.operators.window_aggregate_job import PANE, WindowAggregateJob
from millstream.progress.punctuation import Punctuation
from millstream.windows.panes import Paned
from millstream.windows.sliding import Sliding

WINDOW = b"window"
"""In the metadata of an answer: the key of the window that it is of."""

Mask = npt.NDArray[np.bool_]


def common_job(job: WindowAggregateJob, pane: int) -> WindowAggregateJob:
    """The job that fills the panes which windows share: it has one of those windows, and panes of that width."""
    return replace(job, window=Sliding(pane, pane, _paned(job).origin))


def _paned(job: WindowAggregateJob) -> Paned:
    paned = job.window.paned
    if paned is None:
        raise TypeError(f"{job.window} is not made of panes")
    return paned


class SharedPanes(Operator):
    """One bucket of several window aggregates that differ in range and slide alone.

    Panes and keys are in one store; each window has a way of its own through them. What is late for one window may not
    be for another: such tuples go into panes of those alone that still take them. So each window answers as it would
    alone.
    """

    def __init__(self, jobs: Mapping[str, WindowAggregateJob], pane: int, blobs: Blobs) -> None:
        common = common_job(next(iter(jobs.values())), pane)
        self._grid = _paned(common)
        self._store = PaneStore(common, blobs)
        self._readers = {
            key: _Reader(job, pane, self._store, _Under(blobs, f"window/{key}/")) for key, job in sorted(jobs.items())
        }
        self._late = dict.fromkeys(self._readers, 0)
        self._forget()  # gone already, but for blobs that are shared with others

    @property
    def promise(self) -> int | None:
        """What all windows promise."""
        promises = [reader.promise for reader in self._readers.values()]
        known = [promise for promise in promises if promise is not None]
        return min(known) if len(known) == len(promises) else None

    @property
    def waits(self) -> int | None:
        """What the first of them waits for."""
        return min((w for reader in self._readers.values() if (w := reader.waits) is not None), default=None)

    def said_of_windows(self) -> dict[str, dict[str, int | None]]:
        """What each window waits for, and how many tuples came too late for it since this was asked last."""
        late, self._late = self._late, dict.fromkeys(self._readers, 0)
        return {key: {"waits": reader.waits, "late": late[key]} for key, reader in self._readers.items()}

    def process(self, table: pa.Table, port: int = 0) -> int:
        """Merge partial states into panes; says how many tuples were late for some window, at the most."""
        starts = self._grid.origin + table[PANE].to_numpy() * self._grid.pane
        asked = {key: reader.asks_for(starts) for key, reader in self._readers.items()}
        wanted = np.logical_or.reduce([wants for wants, _ in asked.values()])
        refused = np.logical_or.reduce([closed for _, closed in asked.values()])
        self._add(self._store, table, wanted & ~refused)
        if not refused.any():
            return 0
        most = 0
        for key, (wants, closed) in asked.items():
            late = int(unpack(self._readers[key].job, table.filter(pa.array(closed)))[0][0].sum())
            self._late[key] += late
            most = max(most, late)
            self._add(self._readers[key].own, table, wants & refused & ~closed)
        return most

    def _add(self, store: PaneStore, table: pa.Table, mask: Mask) -> None:
        table = table if mask.all() else table.filter(pa.array(mask))
        if not table.num_rows:
            return
        rows, panes = self._store.index.find(table), table[PANE].to_numpy()
        table = table.select(next(iter(self._readers.values())).job.packed_names)
        if (panes[1:] < panes[:-1]).any():
            order = np.argsort(panes, kind="stable")
            panes, rows, table = panes[order], rows[order], table.take(pa.array(order))
        numbers, begins = np.unique(panes, return_index=True)
        for pane, begin, end in zip(numbers, begins, [*begins[1:], len(panes)], strict=True):
            store.add(int(pane), rows[begin:end], table.slice(begin, end - begin))

    def punctuate(self, punctuation: Punctuation) -> Iterator[pa.Table]:
        """The answers of all windows that are complete now."""
        for key, reader in self._readers.items():
            for answer in reader.punctuate(punctuation):
                yield answer.replace_schema_metadata({WINDOW: key.encode()})
        self._forget()

    def end_batch(self) -> Iterator[pa.Table]:
        """Nothing is answered; state is written."""
        readers = self._readers.values()
        # Keys get other numbers, which panes of single windows would not know of.
        if not any(reader.own.panes for reader in readers) and self._store.compact():
            for reader in readers:
                reader.begin_anew()
        marks = [reader.settled for reader in readers]
        known = [mark for mark in marks if mark is not None]
        self._store.write(min(known) if len(known) == len(marks) else None)
        for reader in readers:
            reader.own.write(None)
        yield from ()

    def _forget(self) -> None:
        needed = [reader.needed for reader in self._readers.values()]
        known = [pane for pane in needed if pane is not None]
        if len(known) == len(needed):
            for pane in [pane for pane in self._store.panes if pane < min(known)]:
                self._store.drop(pane)
        for reader in self._readers.values():
            if reader.needed is not None:
                for pane in [pane for pane in reader.own.panes if pane < reader.needed]:
                    reader.own.drop(pane)


class _Reader(PanedAggregate):
    """One of the windows: it answers from panes that others fill."""

    def __init__(self, job: WindowAggregateJob, pane: int, shared: PaneStore, blobs: Blobs) -> None:
        self.job = job
        self._coarse = _paned(job)
        window = self._coarse if self._coarse.pane == pane else FinerPanes(self._coarse, pane)
        self.own = PaneStore(common_job(job, pane), _Under(blobs, "own/"), shared.index)
        super().__init__(job, blobs, BothPanes(job.calls, shared, self.own), window)

    def asks_for(self, starts: npt.NDArray[np.int64]) -> tuple[Mask, Mask]:
        """Of panes that start then, which have tuples of this window, and for which of these they come too late."""
        first, last = self._coarse.spans(starts)
        wants = first <= last
        if self.low_watermark is None:
            return wants, np.zeros(len(starts), dtype=np.bool_)
        closed = self._coarse.pane_of(starts) < self._coarse.pane_of(np.array([self.low_watermark]))
        return wants, wants & closed

    @property
    def needed(self) -> int | None:
        """The first pane that is still needed."""
        return None if self.low_watermark is None else self._window.last_needed_before(self.low_watermark)

    @property
    def settled(self) -> int | None:
        """The panes before that one do not change any more."""
        if self.low_watermark is None:
            return None
        pane = int(self._coarse.pane_of(np.array([self.low_watermark]))[0])
        return pane * (self._coarse.pane // self._window.pane)

    def begin_anew(self) -> None:
        """Keys have other numbers now."""
        self._totals.reset()


class _Under:
    """Blobs whose names begin with a prefix."""

    def __init__(self, blobs: Blobs, prefix: str) -> None:
        self._blobs, self._prefix = blobs, prefix

    def get(self, name: str) -> bytes | None:
        """The blob of that name, None if there is none."""
        return self._blobs.get(self._prefix + name)

    def put(self, name: str, blob: bytes) -> None:
        """Keep a blob."""
        self._blobs.put(self._prefix + name, blob)

    def delete(self, name: str) -> None:
        """Forget a blob."""
        self._blobs.delete(self._prefix + name)

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes | pa.Buffer]]:
        """All blobs whose names begin so, by name."""
        for name, blob in self._blobs.scan(self._prefix + prefix):
            yield name.removeprefix(self._prefix), blob
