"""Time stamps that are out of bounds move nothing, in both readers; they are counted once, whatever the buckets."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.catalog.address import Address
from millstream.catalog.ahead import EARLIEST, LATEST, USUAL, Ahead
from millstream.catalog.definitions import Stream, TimeStamp
from millstream.catalog.schema import Column, Schema, sql_type
from millstream.connectors.files.arrow_ingress import Reading, direct_ingress
from millstream.errors import RunError
from millstream.operators.tuples.row_steps import Compute
from millstream.operators.window_aggregate_job import TIME
from millstream.spark.host import Host
from millstream.spark.lower.time_bounds import bound_of
from millstream.spark.stage.ingress import Arrow, Inlet, ingress
from millstream.spark.stage.packets import TaskProgress, unseal
from millstream.spark.stage.time_limits import TimeLimits

NOW = time.time_ns() // 1000
DAY = 86_400_000_000
DAYS = TimeLimits(ahead=DAY)
TIMES = st.lists(st.none() | st.sampled_from([EARLIEST - 1, EARLIEST, 0, NOW, NOW + 2 * DAY, LATEST, LATEST + 1]))


@settings(deadline=None)
@given(times=TIMES, bounded=st.booleans(), waits=st.booleans())
def test_each_time_stamp_is_judged_by_itself(times: list[int | None], bounded: bool, waits: bool) -> None:
    limits = TimeLimits(DAY if bounded else None, waits)
    seen = limits.judge(pa.chunked_array([pa.array(times, pa.int64())]))
    until = NOW + DAY if bounded else LATEST
    good = [t is None or EARLIEST <= t <= (LATEST if waits else until) for t in times]
    assert seen.rejected == good.count(False)
    assert (seen.good is None) == all(good)
    if seen.good is not None:
        assert seen.good.to_pylist() == good
    kept = [t for t, keep in zip(times, good, strict=True) if keep and t is not None]
    assert seen.oldest == min(kept, default=None)
    assert seen.newest == max((t for t in kept if t <= until), default=None)


def test_of_a_table_it_is_an_error() -> None:
    message = r"^\+148108-07-06T14:00:27.387904 is too far from 1970 for a window"
    with pytest.raises(RunError, match=message):
        TimeLimits(of_stream=False).judge(pa.array([0, 2**62]))


def told(arrow: Arrow, batch: pa.RecordBatch) -> tuple[list[list[int]], list[TaskProgress]]:
    """The time stamps that go to each bucket, and what each is told."""

    def one() -> Iterator[pa.RecordBatch]:
        yield batch

    found = [unseal(p) for packets in arrow(one()) for p in packets.column("payload").to_pylist()]
    return [table[TIME].to_pylist() for table, _ in found], [progress for _, progress in found]


ROWS = pa.RecordBatch.from_pydict(
    {
        TIME: pa.array([5, NOW + 2 * DAY, None, LATEST + 1, 7, None, None, None]),
        "__left_out": pa.array([None, None, 9, None, None, NOW + 3 * DAY, None, None]),
        "__mark": pa.array([*[None] * 6, f'{{"time": {NOW + 9 * DAY}}}', '{"time": 3}']),
    }
)


def test_the_ingress_by_way_of_spark() -> None:
    inlet = Inlet((0, 1), None, limits=DAYS)
    times, progress = told(ingress(inlet), ROWS)
    assert times == [[5], [7]]
    assert [p.rejected for p in progress] == [4, 0]
    assert {(p.newest, p.oldest, p.promises) for p in progress} == {(9, 5, ((None, 3),))}
    times, progress = told(ingress(replace(inlet, limits=TimeLimits(DAY, waits=True))), ROWS)
    assert times == [[5, 7], [NOW + 2 * DAY]]
    assert {(p.newest, p.oldest) for p in progress} == {(9, 5)}
    _, progress = told(ingress(replace(inlet, limits=None)), ROWS)
    assert {(p.newest, p.rejected) for p in progress} == {(LATEST + 1, 0)}


def test_the_ingress_that_reads_files_itself(tmp_path: Path) -> None:
    stamp = pa.timestamp("us", "UTC")
    table = pa.table({"ts": pa.array([5, NOW + 2 * DAY, None, LATEST + 1, 7]).cast(stamp), "v": [1, 2, 3, 4, 5]})
    pq.write_table(table, tmp_path / "a.parquet")
    compute = Compute(((TIME, lambda rows: pc.cast(rows["ts"], pa.int64()), pa.int64()),))
    reading = Reading(pa.schema([("ts", stamp)]), "ts", (compute,))
    files = pa.RecordBatch.from_pydict({"path": [str(tmp_path / "a.parquet")]})
    times, progress = told(direct_ingress(Inlet((0, 1), None, limits=DAYS), reading), files)
    assert sorted(t for part in times for t in part if t is not None) == [5, 7]
    assert [p.rejected for p in progress] == [2, 0]
    assert {(p.newest, p.oldest) for p in progress} == {(7, 5)}


HOUR = Ahead(timedelta(hours=1), waits=True)


@pytest.mark.parametrize(
    ("address", "declared", "once", "bound"),
    [
        ("csv:in", None, False, USUAL),
        ("csv:in", None, True, None),
        ("csv:in", HOUR, True, HOUR),
        ("csv:in", Ahead(None), False, None),
        ("csv:in/a.csv", None, False, None),
        ("csv:in/*.csv", None, False, USUAL),
        ("csv:s3a://bucket/in", None, False, USUAL),
        ("tcp:4445", None, False, USUAL),
        ("tcp:4445", None, True, None),
        ("rate:5", None, False, None),
    ],
)
def test_what_is_read_live_is_bound(
    address: str, declared: Ahead | None, once: bool, bound: Ahead | None, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").touch()
    kind, _, rest = address.partition(":")
    schema = Schema([Column("ts", sql_type("timestamp"))])
    stream = Stream("s", schema, Address(kind, rest), "ts", TimeStamp.EXTERNAL, ahead=declared)
    host = Host(None, tmp_path, lambda name: tmp_path / name, once=once)  # type: ignore[arg-type]
    assert bound_of(stream, host) == bound
    assert bound_of(replace(stream, time_stamp=TimeStamp.INTERNAL), host) is None
