"""Ingress: the tuples of a task to packets of partial states, one for every bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.operators.grouped import TIME, Grouped
from millstream.operators.partials import partial_states
from millstream.spark.packets import Progress, packets, scatter, seal

CHUNK_ROWS = 500_000
"""How many tuples are reduced at once: enough to be vectorised well, few enough to stay in the caches."""

Arrow = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def ingress(work: Grouped, buckets: Sequence[int]) -> Arrow:
    """A function for mapInArrow from tuples to packets; `buckets` are the ids that spread evenly over Spark's tasks."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in _chunks(batches):
            newest = pc.max(rows[TIME]).as_py()
            progress = Progress(newest)
            parts = scatter(partial_states(work, rows), work.key_names, len(buckets))
            yield packets([(b, seal(part, progress)) for b, part in zip(buckets, parts, strict=True)])

    return run


def whole_tuples(buckets: Sequence[int]) -> Arrow:
    """A function for mapInArrow from tuples to packets of the same tuples, dealt out evenly."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in _chunks(batches):
            progress = Progress(pc.max(rows[TIME]).as_py())
            place = np.arange(rows.num_rows) % len(buckets)
            parts = [rows.filter(pa.array(place == number)) for number in range(len(buckets))]
            yield packets([(b, seal(part, progress)) for b, part in zip(buckets, parts, strict=True)])

    return run


def marks(buckets: Sequence[int]) -> Arrow:
    """A function for mapInArrow from the rows of the control stream to packets that only carry progress."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                yield packets([(b, seal(pa.table({}), Progress(final=True))) for b in buckets])

    return run


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
        if rows >= CHUNK_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)
