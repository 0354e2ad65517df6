"""Tuples leave in the order of their times, each once, as soon as they may: for any order, any cut and restarts."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.operators.blobs import MemoryBlobs
from millstream.operators.contract import Operator
from millstream.operators.ordered.merge_ordered import MergeOrdered
from millstream.operators.tuples.tuple_log import TupleLog
from millstream.operators.window_aggregate_job import TIME
from millstream.progress.punctuation import Punctuation
from tests.operators.harness import Schedule, schedules
from tests.operators.tuples.test_unique_tuples import (
    FAR,
    Batch,
    Row,
    as_text,
    disorders,
    drive,
    rows_of,
    streams,
    table,
)


def numbered(rows: list[Row], schedule: Schedule) -> list[Row]:
    """The rows with their number by arrival as the last column: it tells equal ones apart."""
    places = {row: place for place, row in enumerate(schedule.order)}
    return [(*row[:-1], places[i]) for i, row in enumerate(rows)]


def held(store: MemoryBlobs) -> int:
    log = TupleLog(store, "log/").table
    return 0 if log is None else int(log.num_rows)


def check(rows: list[Row], drawn: Schedule) -> list[Batch]:
    """Compare a run with a sorted list of all that has come on time."""
    schedule = Schedule(drawn.order, drawn.cuts, 1, drawn.restarts)
    store = MemoryBlobs()
    waiting: list[Row] = []
    batches: list[Batch] = []
    for batch in drive(MergeOrdered, numbered(rows, schedule), schedule, [store]):
        waiting = sorted([*waiting, *batch.on_time()], key=lambda row: (row[0], row[-1]))
        last = len(batches) == len(schedule.cuts)
        ready = [row for row in waiting if last or (batch.after is not None and row[0] < batch.after)]
        assert as_text(batch.found, in_order=True) == as_text(ready, in_order=True)
        assert len(batch.answers) == bool(ready), "the answers of a batch are one table"
        assert batch.late == len(batch.rows) - len(batch.on_time())
        waiting = waiting[len(ready) :]
        assert held(store) == len(waiting)
        batches.append(batch)
    found = [row for batch in batches for row in batch.found]
    assert all((a[0], a[-1]) < (b[0], b[-1]) for a, b in pairwise(found))
    assert set(store.blobs) <= {"progress"}, "there is state although nothing is held"
    return batches


@given(st.data())
def test_within_the_slack_every_tuple_leaves_in_order(data: st.DataObject) -> None:
    rows = data.draw(streams(untimed=False))
    batches = check(rows, data.draw(schedules([row[0] for row in rows])))
    assert sum(batch.late for batch in batches) == 0
    assert sum(len(batch.found) for batch in batches) == len(rows)


@given(st.data())
def test_late_tuples_and_those_without_a_time_are_counted(data: st.DataObject) -> None:
    rows = data.draw(streams())
    check(rows, data.draw(disorders(len(rows))))


@pytest.mark.slow
@given(st.data())
def test_several_streams_become_one_as_if_sorted_at_once(data: st.DataObject) -> None:
    """The low-watermark is the least of those of its inputs, each of which is in order already."""
    parts = [sorted(data.draw(st.lists(st.integers(0, 30), max_size=15))) for _ in range(3)]
    store = MemoryBlobs()
    found: list[int] = []
    done = [0, 0, 0]
    while any(d < len(p) for d, p in zip(done, parts, strict=True)):
        operator = MergeOrdered(store)
        for i, part in enumerate(parts):
            more = data.draw(st.integers(0, len(part) - done[i]))
            operator.process(stamped(*part[done[i] : done[i] + more]))
            done[i] += more
        least = min((p[d] for d, p in zip(done, parts, strict=True) if d < len(p)), default=FAR)
        found += times_of(operator, Punctuation(least))
    assert found == sorted(time for part in parts for time in part)


def stamped(*times: int | None) -> pa.Table:
    return table([(time, "a", 0.5, i) for i, time in enumerate(times)])


def times_of(operator: Operator, *punctuations: Punctuation) -> list[int]:
    """The times of the answers, which come when the batch is over."""
    for punctuation in punctuations:
        assert list(operator.punctuate(punctuation)) == []
    return [row[0] for answer in operator.end_batch() for row in rows_of(answer)]


def test_several_punctuations_of_a_batch_give_one_table_in_order() -> None:
    operator = MergeOrdered(MemoryBlobs())
    operator.process(stamped(9, 4, 2))
    assert times_of(operator) == []
    operator.process(stamped(6, 1, 3))
    assert times_of(operator, Punctuation(3), Punctuation(7), Punctuation(5)) == [1, 2, 3, 4, 6]
    assert operator.promise == 7


def test_a_group_settles_nothing() -> None:
    operator = MergeOrdered(MemoryBlobs())
    operator.process(stamped(1, 2))
    assert times_of(operator, Punctuation(9, group=(("k", "a"),))) == []
    assert operator.promise is None
    assert operator.process(stamped(0)) == 0


def test_what_leaves_at_once_is_not_written() -> None:
    store = MemoryBlobs()
    operator = MergeOrdered(store)
    operator.process(stamped(2, 1, 5))
    assert times_of(operator, Punctuation(5)) == [1, 2]
    assert held(store) == 1


def test_what_comes_after_the_end_does_not_break_the_order() -> None:
    store = MemoryBlobs()
    operator = MergeOrdered(store)
    operator.process(stamped(8, 6))
    assert times_of(operator, Punctuation(3), Punctuation(8, final=True)) == [6, 8]
    assert operator.promise == 8
    again = MergeOrdered(store)
    assert again.promise == 8
    assert again.process(stamped(7, None, 8, 10)) == 2
    assert times_of(again, Punctuation(5)) == []
    assert times_of(again, Punctuation(10, final=True)) == [8, 10]


def test_the_end_of_a_stream_that_holds_nothing_moves_nothing() -> None:
    operator = MergeOrdered(MemoryBlobs())
    assert times_of(operator, Punctuation(3), Punctuation(99, final=True)) == []
    assert operator.promise == 3


def test_tuples_leave_as_they_came() -> None:
    lists = pa.array([["a"], None, []], pa.list_(pa.large_string()))
    rows = pa.table({"v": lists, TIME: [2, 1, 0], "f": pa.array([1.5, None, 2.5], pa.float32())})
    store = MemoryBlobs()
    operator = MergeOrdered(store)
    operator.process(rows)
    list(operator.end_batch())
    operator = MergeOrdered(store)
    list(operator.punctuate(Punctuation(9)))
    (found,) = operator.end_batch()
    assert found.equals(rows.take([2, 1, 0]).drop_columns([TIME]))
