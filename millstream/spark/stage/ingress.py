"""Ingress: the tuples of a task to packets, one per bucket, each with the progress of the task."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.catalog.ahead import EARLIEST
from millstream.operators.window_aggregate_job import TIME
from millstream.progress.group_table import NAMED, UNTIL
from millstream.spark.stage import marks
from millstream.spark.stage.arrival_order import Ordering, number_rows, task_number
from millstream.spark.stage.control_words import END, TICK, WAIT, read_enabling
from millstream.spark.stage.garbage_collector import freeze_imported_modules
from millstream.spark.stage.packets import TaskProgress, packets, scatter, seal
from millstream.spark.stage.time_limits import TimeLimits, judge_times

CHUNK_ROWS = 500_000
"""How many tuples are reduced at once: enough to be vectorised well, few enough to stay in the caches."""

Arrow = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Inlet:
    """How the tuples of a frame come into a stage.

    `keys` choose the bucket of a row; None deals rows out evenly. `prepare` is what can be done before the shuffle, if
    anything.
    `promised` names what the promises of the stage before are to be about. `sources` are the columns of the stream
    that key columns are plain copies of: punctuation names groups by them. `feed` is its number among the inputs of the
    stage. `busy` is the column of what is prepared that tells of all tuples where they came to, if all buckets are to
    know. `limits` say which time stamps are good, if they come with the data. `order` says how tuples come to numbers
    for the order in which they arrived, if that matters.
    """

    buckets: tuple[int, ...]
    keys: tuple[str, ...] | None
    prepare: Callable[[pa.Table], pa.Table] | None = None
    promised: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    feed: int = 0
    busy: str | None = None
    limits: TimeLimits | None = None
    order: Ordering | None = None


def ingress(inlet: Inlet) -> Arrow:
    """A function for mapInArrow from tuples and marks to packets."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, chunk in enumerate(chunks(batches)):
            begun = time.perf_counter()
            rows, said, left_out = marks.part(chunk)
            seen = judge_times(inlet.limits, rows[TIME])
            rows = rows if seen.good is None else rows.filter(seen.good)
            newest, rejected = seen.newest, seen.rejected
            if left_out is not None:
                others = judge_times(inlet.limits, left_out)
                newest = max((t for t in (newest, others.newest) if t is not None), default=None)
                rejected += others.rejected
            progress = progress_of(inlet, said, TaskProgress(newest, seen.oldest, rejected=rejected))
            if inlet.order is not None and inlet.order.counted:
                rows, runs = number_rows(rows, task_number(), number)
                progress = replace(progress, runs=runs)
            yield seal_packets(inlet, rows, progress, begun)
        freeze_imported_modules()

    return run


def seal_packets(inlet: Inlet, rows: pa.Table | None, progress: TaskProgress, begun: float) -> pa.RecordBatch:
    """Tuples as packets, one for each bucket; without tuples, the packets carry nothing but progress.

    The work on them has `begun` at that moment.
    """
    if rows is None:
        dealt = [pa.table({})] * len(inlet.buckets)
    else:
        prepared = inlet.prepare(rows) if inlet.prepare else rows
        if inlet.busy is not None and len(inlet.buckets) > 1:
            progress = replace(progress, busy=pc.unique(prepared[inlet.busy]).drop_null())
        dealt = _deal(prepared, inlet)
    counted = replace(
        progress, tuples=0 if rows is None else rows.num_rows, micros=round(1e6 * (time.perf_counter() - begun))
    )
    told = [counted, *[replace(progress, rejected=0)] * (len(inlet.buckets) - 1)]  # what is counted is so once
    return packets([(b, seal(part, said)) for b, part, said in zip(inlet.buckets, dealt, told, strict=True)])


def control_marks(buckets: Sequence[int], streams: Mapping[str, Sequence[int]]) -> Arrow:
    """A function for mapInArrow from the rows of the control stream to packets that only carry progress.

    `streams` are the inputs of the stage that come from each stream.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for word in batch.column(0).to_pylist():
                for progress in _control_progress(word, streams):
                    yield packets([(b, seal(pa.table({}), progress)) for b in buckets])
        freeze_imported_modules()

    return run


def _control_progress(word: str, streams: Mapping[str, Sequence[int]]) -> list[TaskProgress]:
    """What a mark says of the inputs of a stage."""
    if word == END:
        return [TaskProgress(final=(None,), feed=None)]
    if word == WAIT:
        return []
    if word == TICK:
        return [TaskProgress(ticks=True, feed=None)]
    stream, time = read_enabling(word)
    return [TaskProgress(promises=((None, time),), feed=feed) for feed in streams.get(stream, ())]


def _deal(rows: pa.Table, inlet: Inlet) -> list[pa.Table]:
    if inlet.keys is not None:
        return scatter(rows, inlet.keys, len(inlet.buckets))
    place = np.arange(rows.num_rows) % len(inlet.buckets)
    return [rows.filter(pa.array(place == number)) for number in range(len(inlet.buckets))]


def progress_of(inlet: Inlet, said: pa.Table | None, seen: TaskProgress) -> TaskProgress:
    """What was seen of the tuples, and what the marks say."""
    if said is None:
        return replace(seen, feed=inlet.feed)
    read = marks.read(said)
    promises: list[tuple[int | None, int]] = []
    final: list[int | None] = []
    for origin, mark in read.origins:
        if inlet.promised in mark["promises"]:
            promises.append((origin, mark["promises"][inlet.promised]))
        if mark["final"]:
            final.append(origin)
    good = _credible(inlet, read.punctuation)
    promises += [(None, time) for _, time, columns in good if not columns]
    groups = _group_promises(inlet, said, good)
    rejected = seen.rejected + len(read.punctuation) - len(good)
    told = replace(seen, promises=tuple(promises), final=tuple(final), groups=groups, feed=inlet.feed)
    return replace(told, rejected=rejected)


def _credible(inlet: Inlet, punctuation: Sequence[marks.Punctuated]) -> list[marks.Punctuated]:
    """The punctuation that is not further ahead than tuples may be: it moves time as they do."""
    if inlet.limits is None or not punctuation:
        return list(punctuation)
    until = inlet.limits.until()
    return [said for said in punctuation if EARLIEST <= said[1] <= until]


def _group_promises(inlet: Inlet, said: pa.Table, punctuation: Sequence[marks.Punctuated]) -> pa.Table | None:
    """The promises to groups that the keys can tell apart; others cannot be used."""
    by_source = {source: key for key, source in inlet.sources.items()}
    usable = [
        (row, time, [by_source[c] for c in columns])
        for row, time, columns in punctuation
        if columns and all(c in by_source for c in columns)
    ]
    if not usable:
        return None
    table = said.take(pa.array([row for row, _, _ in usable])).select(sorted(inlet.sources))
    table = table.append_column(UNTIL, pa.array([time for _, time, _ in usable], pa.int64()))
    return table.append_column(NAMED, pa.array([names for _, _, names in usable], pa.list_(pa.string())))


def chunks(batches: Iterator[pa.RecordBatch], enough: int = CHUNK_ROWS) -> Iterator[pa.Table]:
    """Batches put together to so many rows that it pays to work on them."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
        if rows >= enough:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)
