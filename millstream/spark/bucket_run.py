"""A batch of one bucket: its operator and its state are found, fed, and written back."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa

from millstream.operators.blobs import Blobs
from millstream.operators.contract import Operator
from millstream.operators.grouped import TIME
from millstream.progress.low_watermark import LowWatermark
from millstream.progress.punctuation import Punctuation
from millstream.spark.ingress import NAMES
from millstream.spark.local_copy import LocalCopy
from millstream.spark.marks import MARK, stage_mark
from millstream.spark.packets import Progress, unseal
from millstream.spark.unnest import Nested, unnested
from millstream.spark.wire import to_wire

PROGRESS = "stage"
"""The blob in which a stage keeps how far its inputs have come; no operator has one of that name."""


class PendingBlobs:
    """Blobs of a bucket: read once, and written back at the end of a batch."""

    def __init__(self, stored: Mapping[str, bytes | pa.Buffer]) -> None:
        self._stored = stored
        self.puts: dict[str, bytes] = {}
        self.deletes: set[str] = set()

    def get(self, name: str) -> bytes | None:
        """The blob of that name, None if there is none."""
        found = None if name in self.deletes else self.puts.get(name, self._stored.get(name))
        return found.to_pybytes() if isinstance(found, pa.Buffer) else found

    def put(self, name: str, blob: bytes) -> None:
        """Keep a blob."""
        self.puts[name] = blob
        self.deletes.discard(name)

    def delete(self, name: str) -> None:
        """Forget a blob."""
        self.puts.pop(name, None)
        self.deletes.add(name)

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes | pa.Buffer]]:
        """All blobs whose names begin so, by name."""
        now = {**{n: b for n, b in self._stored.items() if n not in self.deletes}, **self.puts}
        yield from ((name, now[name]) for name in sorted(now) if name.startswith(prefix))

    def settle(self) -> None:
        """Begin anew after everything has been written; what was read is no longer needed."""
        self._stored = {}
        self.puts = {}
        self.deletes = set()


_CACHE: dict[tuple[str, int, int], tuple[int, Operator, LowWatermark, PendingBlobs]] = {}
"""The operators that this process has run, by query, stage and bucket, each with the version of its state."""


@dataclass(frozen=True)
class Outlet:
    """What a stage is: its operator, the slack or the number of buckets its progress comes from, what it promises.

    `answers` are the columns that it gives to Spark, MARK among them; `lists` are those that it unnests for that.
    `promises` are the columns of its answers that the operator's promise is about, and by how much they lag behind it.
    """

    query: str
    number: int
    answers: pa.Schema
    make: Callable[[Blobs], Operator]
    slack: int | None
    origins: int = 0
    promises: tuple[tuple[str, int], ...] = ()
    lists: tuple[Nested, ...] = ()


class BucketRun:
    """A batch of one bucket: all data first, then the progress they carry, then the state is written."""

    def __init__(self, outlet: Outlet, bucket: int, blobs: Any, version: Any) -> None:
        self._outlet = outlet
        self._bucket = bucket
        self._blobs = blobs
        self._version = version
        self._place = (outlet.query, outlet.number, bucket)
        self._copy = LocalCopy(*self._place)

    def run(self, payloads: Iterable[bytes]) -> Iterator[pd.DataFrame]:
        """The answers to what the packets hold, and the mark of the bucket."""
        known = self._version.get()
        version = int(known[0]) if known else 0
        operator, watermark, pending = self._load(version)
        late = 0
        said: list[Progress] = []
        for payload in payloads:
            table, progress = unseal(payload)
            if table.num_columns:  # a mark carries nothing but progress
                late += operator.process(table)
            said.append(progress)
        for progress in said:
            watermark.saw(progress.oldest, progress.newest)
            for origin, time in progress.promises:
                watermark.promised(time, origin)
        final = self._ended({origin for progress in said for origin in progress.final})
        answers = [a for a in _answers(operator, watermark, said, final) if a.num_rows]
        pending.put(PROGRESS, watermark.to_bytes())
        self._save(version, operator, watermark, pending)
        mark = pa.table({MARK: pa.array([stage_mark(self._bucket, self._promises(operator), late, final)])})
        # One frame, and so one batch of Arrow: Spark's own work for each costs more than its rows.
        rows = [unnested(pa.concat_tables(answers), self._outlet.lists)] if answers else []
        yield to_wire(pa.concat_tables([*rows, mark], promote_options="default"), self._outlet.answers)

    def _ended(self, final: set[int | None]) -> bool:
        """Whether the input has ended, as far as it is known: the source, or all buckets of the stage before."""
        return len(final) >= max(self._outlet.origins, 1)

    def _promises(self, operator: Operator) -> dict[str, int]:
        promise = operator.promise
        return {} if promise is None else {name: promise - lag for name, lag in self._outlet.promises}

    def _load(self, version: int) -> tuple[Operator, LowWatermark, PendingBlobs]:
        """The operator as it was after the last batch. Spark may run a bucket anywhere: a cache must prove its age."""
        # Taken out until the batch is done: an operator that was left in the middle of one must not be used again.
        cached = _CACHE.pop(self._place, None)
        if cached and cached[0] == version:
            return cached[1:]
        pending = PendingBlobs(self._stored(version) if version else {})
        watermark = LowWatermark(self._outlet.slack, self._outlet.origins)
        watermark.restore(pending.get(PROGRESS))
        return self._outlet.make(pending), watermark, pending

    def _stored(self, version: int) -> Mapping[str, bytes | pa.Buffer]:
        copied = self._copy.load(version)
        if copied is not None:
            return copied
        stored = {str(k[0]): bytes(v[0]) for k, v in self._blobs.iterator()}
        self._copy.fill(version, stored)
        return stored

    def _save(self, old: int, operator: Operator, watermark: LowWatermark, pending: PendingBlobs) -> None:
        for name in pending.deletes:
            self._blobs.removeKey((name,))
        for name, blob in pending.puts.items():
            self._blobs.updateValue((name,), (blob,))
        # Drawn by lot, so that the state of a batch that failed is never taken for that of the one that took its place.
        new = secrets.randbelow(2**62) + 1
        self._version.update((new,))
        self._copy.save(old, new, pending.puts, pending.deletes)
        pending.settle()
        _CACHE[self._place] = (new, operator, watermark, pending)


def _answers(operator: Operator, watermark: LowWatermark, said: Sequence[Progress], final: bool) -> Iterator[pa.Table]:
    """What the operator answers to the progress of a batch."""
    for progress in said:
        for promise in progress.groups.to_pylist() if progress.groups is not None else ():
            group = tuple((name, promise[name]) for name in promise[NAMES])
            yield from operator.punctuate(Punctuation(promise[TIME], group=group))
    if watermark.time is not None:
        yield from operator.punctuate(Punctuation(watermark.time, oldest=watermark.oldest))
    if final:
        yield from operator.punctuate(Punctuation(watermark.newest or 0, final=True, oldest=watermark.oldest))
    if any(progress.ticks for progress in said):
        yield from operator.tick()
    yield from operator.end_batch()
