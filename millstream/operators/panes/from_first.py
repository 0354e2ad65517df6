"""ORIGIN FIRST: windows that are aligned to the first time stamp of the stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.operators.blobs import Blobs, from_bytes, to_bytes
from millstream.operators.contract import Operator
from millstream.operators.panes.emission import window_of
from millstream.operators.panes.paned_aggregate import PanedAggregate
from millstream.operators.panes.partials import partial_states
from millstream.operators.window_aggregate_job import TIME, WindowAggregateJob
from millstream.progress.punctuation import Punctuation
from millstream.windows.tuples import Ints

ORIGIN = "origin"
STIRRED = "stirred"
"""The blob of the times of tuples of all buckets, as long as the origin is not certain."""


class FromFirst(Operator):
    """Keeps whole tuples until no older one can come, then is a paned aggregate whose windows start at the oldest.

    The oldest time stamp is that of the whole stream, so that all buckets have the same windows.
    """

    def __init__(self, work: WindowAggregateJob, blobs: Blobs) -> None:
        window_of(work)
        self._work = work
        self._blobs = blobs
        self._held = dict(blobs.scan("held/"))
        stirred = blobs.get(STIRRED)
        self._stirred: Ints = np.frombuffer(stirred, dtype=np.int64) if stirred else np.zeros(0, dtype=np.int64)
        origin = blobs.get(ORIGIN)
        self._made: tuple[int, WindowAggregateJob, PanedAggregate] | None = (
            self._make(json.loads(origin)) if origin else None
        )

    @property
    def promise(self) -> int | None:
        """That of the windows, once their origin is certain."""
        return self._made[2].promise if self._made else None

    @property
    def waits(self) -> int | None:
        """What the windows wait for; before them, the moment after the oldest tuple."""
        if self._made is not None:
            return self._made[2].waits
        return min((pc.min(from_bytes(blob)[TIME]).as_py() + 1 for blob in self._held.values()), default=None)

    def process(self, table: pa.Table, port: int = 0) -> int:
        """Take in tuples; those before the origin are late."""
        table = table.filter(pc.is_valid(table[TIME]))
        if not table.num_rows:
            return 0
        if self._made is None:
            name = f"held/{len(self._held):012d}"
            self._held[name] = to_bytes(table)
            self._blobs.put(name, self._held[name])
            return 0
        origin, job, operator = self._made
        good = table.filter(pc.greater_equal(table[TIME], origin))
        return int(table.num_rows - good.num_rows) + operator.process(partial_states(job, good))

    def note_busy_places(self, places: pa.Array) -> None:
        """Take note of times; which panes these are in is known when the origin is."""
        if self._made is None:
            self._stirred = np.union1d(self._stirred, places.to_numpy())
            self._blobs.put(STIRRED, self._stirred.tobytes())
            return
        origin, job, operator = self._made
        times = places.to_numpy()
        operator.note_busy_places(pa.array(np.unique(window_of(job).pane_of(times[times >= origin]))))

    def punctuate(self, punctuation: Punctuation) -> Iterator[pa.Table]:
        """The answers of all windows that are complete now; none while their origin is not certain."""
        oldest = punctuation.oldest
        certain = punctuation.final or (oldest is not None and punctuation.time > oldest)
        if self._made is None and certain and oldest is not None and not punctuation.group:
            self._begin(oldest)
        if self._made is not None:
            yield from self._made[2].punctuate(punctuation)

    def tick(self) -> Iterator[pa.Table]:
        """As the windows do."""
        return self._made[2].tick() if self._made else iter(())

    def end_batch(self) -> Iterator[pa.Table]:
        """As the windows do."""
        return self._made[2].end_batch() if self._made else iter(())

    def _begin(self, origin: int) -> None:
        self._blobs.put(ORIGIN, json.dumps(origin).encode())
        self._made = self._make(origin)
        for name, blob in self._held.items():
            self.process(from_bytes(blob))
            self._blobs.delete(name)
        self._held = {}
        if len(self._stirred):
            self.note_busy_places(pa.array(self._stirred))
            self._blobs.delete(STIRRED)

    def _make(self, origin: int) -> tuple[int, WindowAggregateJob, PanedAggregate]:
        window = self._work.window.paned
        assert window is not None  # noqa: S101  (see window_of)
        job = replace(self._work, window=window.from_origin(origin), from_first=False)
        return origin, job, PanedAggregate(job, self._blobs)
