"""The sink of a host: the rows of each member go to its own sink, metrics to the counts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession

from millstream.connectors.files.folder import FolderSink
from millstream.connectors.writing.batch_sink import BatchSink
from millstream.connectors.writing.rows_sink import RowsSink
from millstream.operators.blobs import from_bytes
from millstream.spark.hosts.freight import Kind
from millstream.spark.hosts.host_counts import BatchReport, Follower, HostCounts
from millstream.spark.hosts.member import Member
from millstream.spark.process.failures import explain_failure
from millstream.spark.run.progress import Counts

AT_ONCE = 4
"""So many sinks are written side by side."""


@dataclass
class RunningMember:
    """A member on the driver: its sink, which is None if its rows are discarded, and its counts."""

    member: Member
    sink: BatchSink | None
    counts: Counts
    since: int = 0
    has_written: bool = False
    departure: threading.Event = field(default_factory=threading.Event)
    failure: str | None = None

    @property
    def follower(self) -> Follower:
        """What is counted for it."""
        answers = self.member.answers
        return Follower(self.counts, self.member.state, None if answers is None else answers.window)


class _WriteOutcome(NamedTuple):
    """How many rows a sink has taken, or why it has not."""

    one: RunningMember
    rows: int
    problem: Exception | None


class HostSink:
    """Hands the rows of a batch to the members it is for. One that fails leaves; the others have what is theirs."""

    def __init__(
        self, spark: SparkSession, counts: HostCounts, leave: Callable[[RunningMember, int, str], None]
    ) -> None:
        self._spark, self._counts, self._leave = spark, counts, leave
        self.running_members: dict[str, RunningMember] = {}
        self.handout_lock = threading.RLock()
        self.next_batch: int | None = None

    def prepare(self, frame: DataFrame) -> DataFrame:
        """The freight as it is."""
        return frame

    def write(self, frame: DataFrame, batch: int) -> int:
        """Hand out a batch."""
        freight = frame.toArrow()
        with self.handout_lock:  # who leaves meanwhile has this batch as a whole, or not at all
            written = self._hand_out(freight, batch)
            self.next_batch = batch + 1
        return written

    def _hand_out(self, freight: pa.Table, batch: int) -> int:
        report, rows, failed = self._sort_freight(freight)
        here = [one for one in list(self.running_members.values()) if one.since <= batch and not one.departure.is_set()]
        for one in here:
            why = failed.get(one.member.id) or (failed.get(one.member.state) if one.member.state else None)
            if why is not None:
                self._leave(one, batch, explain_failure(RuntimeError(why)))
        well = [one for one in here if not one.departure.is_set()]
        written = 0
        for one, count, problem in list(self._hand_rows(well, rows, batch)):
            if problem is not None and not one.departure.is_set():
                self._leave(one, batch, explain_failure(problem))
            one.counts.rows_out += count
            written += count
        report.followers = [one.follower for one in here if one.failure is None]
        self._counts.said[batch] = report
        return written

    def close(self) -> None:
        """Close the sinks of all members."""
        for one in self.running_members.values():
            if one.sink is not None:
                one.sink.close()

    def _sort_freight(self, freight: pa.Table) -> tuple[BatchReport, dict[str, list[pa.Table]], dict[str, str]]:
        report, failed = BatchReport(), dict[str, str]()
        rows: dict[str, list[pa.Table]] = {}
        who, kinds = freight["who"].to_pylist(), freight["kind"].to_pylist()
        payloads = (payload for chunk in freight["payload"].chunks for payload in chunk)
        for name, kind, payload in zip(who, kinds, payloads, strict=True):
            match kind:
                case Kind.ROWS:
                    rows.setdefault(name, []).append(from_bytes(payload.as_buffer()))
                case Kind.MARK:
                    report.add_mark(name, payload.as_py())
                case Kind.REJECTED:
                    report.beyond += int(payload.as_py())
                case Kind.FAILED:
                    failed[name] = payload.as_py().decode()
        return report, rows, failed

    def _hand_rows(
        self, members: Sequence[RunningMember], rows: dict[str, list[pa.Table]], batch: int
    ) -> Iterator[_WriteOutcome]:
        """Give each its rows; what Spark must write goes side by side."""
        slow: list[tuple[RunningMember, pa.Table]] = []
        for one in members:
            table = pa.concat_tables([one.member.columns.empty_table(), *rows.get(one.member.id, [])])
            # Without rows only the first batch of a run matters: files of an earlier try go, and a header is written.
            if not table.num_rows and one.has_written:
                continue
            one.has_written = True
            if _takes(one.sink, table.schema):
                yield self._write(one, table, batch)
            else:
                slow.append((one, table))
        if len(slow) == 1:
            yield self._write(*slow[0], batch)
        elif slow:
            write = inheritable_thread_target(self._spark)(self._write)
            with ThreadPoolExecutor(AT_ONCE) as pool:
                writing = [pool.submit(write, one, table, batch) for one, table in slow]
                yield from (done.result() for done in writing)

    def _write(self, one: RunningMember, table: pa.Table, batch: int) -> _WriteOutcome:
        try:
            return _WriteOutcome(one, self._write_table(one.sink, table, batch), None)
        except Exception as problem:  # whatever its sink does, the others go on
            return _WriteOutcome(one, 0, problem)

    def _write_table(self, sink: BatchSink | None, table: pa.Table, batch: int) -> int:
        match sink:
            case None:
                return 0
            case RowsSink():
                return sink.write_table(table, batch)
            case FolderSink() if sink.takes(table.schema):
                return sink.write_table(table, batch)
        frame = self._spark.createDataFrame(table)
        return sink.write(sink.prepare(frame), batch)


def _takes(sink: BatchSink | None, schema: pa.Schema) -> bool:
    """Whether a sink takes tables of Arrow as they are."""
    return sink is None or isinstance(sink, RowsSink) or (isinstance(sink, FolderSink) and sink.takes(schema))
