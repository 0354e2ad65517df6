"""A batch of one operator: it is fed all data first, then the progress that came with them, and it answers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from millstream.operators.blobs import Blobs
from millstream.operators.contract import Operator
from millstream.spark.stage.arrival_order import Runs, in_order
from millstream.spark.stage.bucket_work import BucketWork
from millstream.spark.stage.feeds import Feed, FeedProgress
from millstream.spark.stage.marks import stage_mark
from millstream.spark.stage.packets import TaskProgress, unseal


class OperatorBatch:
    """What one operator does in a batch of a bucket, and what can be said of it afterwards."""

    def __init__(self, operator: Operator, feeds: Sequence[Feed], inputs: FeedProgress) -> None:
        self._operator, self._feeds, self._inputs = operator, feeds, inputs
        self._late = [0] * len(feeds)
        self._rejected, self._tuples, self._micros = ([0] * len(feeds) for _ in range(3))
        self._said: list[TaskProgress] = []
        self._begun, self._rows, self._bytes = time.perf_counter(), 0, 0
        self._ended: set[int] = set()

    def run(self, payloads: Iterable[bytes], blobs: Blobs) -> list[pa.Table]:
        """The answers to what the packets hold; what must be remembered is in the blobs then."""
        self._feed(payloads)
        self._inputs.take(self._said)
        self._ended = self._inputs.ended_ports(self._said)
        answers = [answer for answer in self._answers() if answer.num_rows]
        self._inputs.save(blobs)
        return answers

    def _feed(self, payloads: Iterable[bytes]) -> None:
        held: dict[int, list[tuple[pa.Table, Runs]]] = {}
        for payload in payloads:
            table, progress = unseal(payload)
            self._rows += table.num_rows
            self._bytes += len(payload)
            self._rejected[progress.feed or 0] += progress.rejected
            self._tuples[progress.feed or 0] += progress.tuples
            self._micros[progress.feed or 0] += progress.micros
            if progress.busy is not None:
                self._operator.note_busy_places(progress.busy)
            self._said.append(progress)
            if not table.num_columns or progress.feed is None:  # a mark carries nothing but progress
                continue
            feed = self._feeds[progress.feed]
            if feed.order is None:
                self._late[progress.feed] += self._operator.process(table, feed.port)
            else:
                held.setdefault(progress.feed, []).append((table, progress.runs))
        for number, packets in sorted(held.items()):
            feed = self._feeds[number]
            assert feed.order is not None  # noqa: S101
            for table in in_order(feed.order, number, packets, self._inputs.arrived):
                self._late[number] += self._operator.process(table, feed.port)

    def _answers(self) -> Iterator[pa.Table]:
        """What the operator answers to the progress of the batch."""
        for one in self._inputs.punctuation(self._said, self._ended):
            yield from self._operator.punctuate(one)
        if any(progress.ticks for progress in self._said):
            yield from self._operator.tick()
        yield from self._operator.end_batch()

    def mark(self, bucket: int, promises: Sequence[tuple[str, int]], out: int, state: int) -> str:
        """The mark of the bucket: so many rows were answered, and so many bytes are kept."""
        inputs, said, feeds = self._inputs, self._said, range(len(self._feeds))
        of_inputs: dict[str, Sequence[int | None]] = {
            "late": self._late,
            "rejected": self._rejected,
            "heard": [int(any(p.feed == n and p.newest is not None for p in said)) for n in feeds],
            "passed": [watermark.time for watermark in inputs.watermarks],
            "newest": [watermark.newest for watermark in inputs.watermarks],
            "tuples": self._tuples,
            "micros": self._micros,
        }
        return stage_mark(
            bucket,
            self._promises(promises),
            of_inputs,
            final=inputs.is_over(self._ended),
            waits=self._operator.waits,
            work=BucketWork(self._rows, time.perf_counter() - self._begun).packed,
            sizes={"bytes": self._bytes, "out": out, "state": state},
        )

    def _promises(self, lags: Sequence[tuple[str, int]]) -> Mapping[str, int]:
        promise = self._operator.promise
        by_lag = {} if promise is None else {name: promise - lag for name, lag in lags}
        return {**by_lag, **self._operator.promises}
