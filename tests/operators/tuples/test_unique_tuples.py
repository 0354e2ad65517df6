"""Of equal tuples the first passes, for any order, any cut, restarts and any bucket count; what is covered is gone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.operators.blobs import Blobs, MemoryBlobs, from_bytes
from millstream.operators.contract import Operator
from millstream.operators.tuples import unique_tuples
from millstream.operators.tuples.unique_tuples import SEEN, UniqueTuples
from millstream.operators.window_aggregate_job import TIME
from millstream.progress.punctuation import Punctuation
from millstream.spark.stage.packets import scatter
from tests.operators.harness import SLACK, TIMES, Schedule, packets, schedules

SCHEMA = pa.schema([("at", pa.int64()), ("k", pa.string()), ("x", pa.float64()), ("n", pa.int32())])
NAMES = tuple(SCHEMA.names)

Row = tuple[Any, ...]

FLOATS = st.sampled_from([0.0, -0.0, math.nan, None, 1.5])
FAR = 10**6


def table(rows: list[Row]) -> pa.Table:
    """Tuples with their time, which is their first column, also beside them."""
    columns = list(zip(*rows, strict=True)) or [()] * len(NAMES)
    made = pa.table([pa.array(c, t) for c, t in zip(columns, SCHEMA.types, strict=True)], schema=SCHEMA)
    return made.append_column(TIME, made["at"])


def rows_of(found: pa.Table) -> list[Row]:
    return list(zip(*(found[name].to_pylist() for name in NAMES), strict=True))


@st.composite
def streams(draw: st.DrawFn, untimed: bool = True) -> list[Row]:
    """Tuples, many of them equal; some may have no time."""
    time = draw(TIMES) | st.none() if untimed else draw(TIMES)
    row = st.tuples(time, st.sampled_from(["a", "", None]), FLOATS, st.sampled_from([7, None]))
    some = draw(st.lists(row, min_size=1, max_size=15))
    # A zero of the other sign, so that equal ones need not be the same.
    again = [(*r[:2], -r[2] if r[2] == 0 else r[2], *r[3:]) for r in some]
    return draw(st.lists(st.sampled_from(some + again), max_size=40))


@st.composite
def disorders(draw: st.DrawFn, count: int) -> Schedule:
    """Any order at all, so that tuples come late."""
    order = draw(st.permutations(range(count)))
    cuts = sorted(draw(st.lists(st.integers(0, count), max_size=6)))
    return Schedule(list(order), cuts, draw(st.integers(1, 7)), draw(st.booleans()))


@dataclass
class Batch:
    """What a batch held and what came of it; `before` and `after` are the low-watermarks around it."""

    rows: list[Row]
    before: int | None
    after: int | None
    answers: list[pa.Table] = field(default_factory=list)
    late: int = 0

    @property
    def found(self) -> list[Row]:
        return [row for answer in self.answers for row in rows_of(answer)]

    def on_time(self) -> list[Row]:
        """The tuples that are not late."""
        return [r for r in self.rows if r[0] is not None and (self.before is None or r[0] >= self.before)]


def drive(
    make: Callable[[Blobs], Operator], rows: list[Row], schedule: Schedule, stores: list[MemoryBlobs]
) -> Iterator[Batch]:
    """Run operators as the host does, batch by batch; promises are checked on the way."""
    operators = [make(store) for store in stores]
    low_watermark: int | None = None
    newest: int | None = None
    batches = schedule.batches(table(rows))
    for number, arrived in enumerate(batches):
        times = [t for t in arrived[TIME].to_pylist() if t is not None]
        newest = max([*times, *([] if newest is None else [newest])], default=None)
        after = None if newest is None else newest - SLACK
        batch = Batch(rows_of(arrived), low_watermark, after)
        for packet in packets(arrived):
            for operator, part in zip(operators, scatter(packet, NAMES, len(stores)), strict=True):
                batch.late += operator.process(part)
        for operator in operators:
            promise = operator.promise
            answers = list(operator.punctuate(Punctuation(FAR, group=(("k", "a"),))))
            if after is not None:
                answers += operator.punctuate(Punctuation(after))
            if number == len(batches) - 1:
                answers += operator.punctuate(Punctuation(newest or 0, final=True))
            answers += operator.tick()
            answers += operator.end_batch()
            assert promise == low_watermark
            stamps = [row[0] for answer in answers for row in rows_of(answer)]
            assert promise is None or all(stamp >= promise for stamp in stamps), "a promise was broken"
            batch.answers += answers
        low_watermark = after
        yield batch
        if schedule.restarts:
            operators = [make(store) for store in stores]


def make(blobs: Blobs) -> Operator:
    return UniqueTuples(NAMES, blobs)


def alike(row: Row) -> Row:
    """What equal tuples have in common; Python already holds 0.0 and -0.0 to be equal."""
    return tuple("NaN" if isinstance(v, float) and math.isnan(v) else v for v in row)


def as_text(rows: list[Row], in_order: bool) -> list[str]:
    """Rows to be compared, with the sign of zero."""
    return [repr(r) for r in rows] if in_order else sorted(repr(r) for r in rows)


def check(rows: list[Row], schedule: Schedule) -> list[Batch]:
    """Compare a run with a set of all tuples that ever came on time."""
    stores = [MemoryBlobs() for _ in range(schedule.buckets)]
    seen: set[Row] = set()
    batches = []
    for batch in drive(make, rows, schedule, stores):
        wanted = []
        for row in batch.on_time():
            if alike(row) not in seen:
                wanted.append(row)
            seen.add(alike(row))
        # Buckets come one after the other, so only with one of them the order is that of the arrival.
        assert as_text(batch.found, schedule.buckets == 1) == as_text(wanted, schedule.buckets == 1)
        assert batch.late == len(batch.rows) - len(batch.on_time())
        needed = [row for row in seen if batch.after is None or row[0] >= batch.after]
        assert len(needed) <= stored(stores) <= 2 * len(needed), "what is stored is not what is needed"
        batches.append(batch)
    for store in stores:
        operator = make(store)
        assert list(operator.punctuate(Punctuation(FAR))) == []
        assert list(operator.end_batch()) == []
        assert set(store.blobs) == {"progress"}, "there is state although nothing can come any more"
    return batches


def stored(stores: list[MemoryBlobs]) -> int:
    return sum(from_bytes(blob).num_rows for store in stores for _, blob in store.scan(SEEN))


@given(st.data())
def test_within_the_slack_every_tuple_passes_once(data: st.DataObject) -> None:
    rows = data.draw(streams(untimed=False))
    batches = check(rows, data.draw(schedules([row[0] for row in rows])))
    assert sum(batch.late for batch in batches) == 0
    assert {alike(row) for batch in batches for row in batch.found} == {alike(row) for row in rows}


@given(st.data())
def test_late_tuples_and_those_without_a_time_are_counted(data: st.DataObject) -> None:
    rows = data.draw(streams())
    check(rows, data.draw(disorders(len(rows))))


@given(st.data(), st.integers(1, 4), st.integers(0, 3))
def test_slices_may_be_of_any_size(data: st.DataObject, size: int, most: int) -> None:
    rows = data.draw(streams())
    with patch.object(unique_tuples, "SLICE", size), patch.object(unique_tuples, "MOST_SLICES", most):
        check(rows, data.draw(disorders(len(rows))))


def batch_of(operator: Operator, rows: list[Row], *punctuations: Punctuation) -> list[Row]:
    """The answers to one batch."""
    operator.process(table(rows))
    answers = [answer for punctuation in punctuations for answer in operator.punctuate(punctuation)]
    return [row for answer in [*answers, *operator.end_batch()] for row in rows_of(answer)]


def numbered(*times: int) -> list[Row]:
    return [(time, "a", 0.5, 1) for time in times]


def test_slices_are_written_once_and_go_as_a_whole() -> None:
    store = MemoryBlobs()
    operator = make(store)
    first, second, third = numbered(0, 1, 2, 3), numbered(4, 5, 6, 7), numbered(8, 9)
    assert batch_of(operator, first) == first
    assert batch_of(operator, second) == second
    written = dict(store.scan(SEEN))
    assert len(written) == 2
    assert batch_of(operator, third, Punctuation(2)) == third
    now = dict(store.scan(SEEN))
    assert len(now) == 3
    assert all(now[name] is blob for name, blob in written.items())
    assert batch_of(operator, first[2:] + second, Punctuation(5)) == []
    assert list(dict(store.scan(SEEN))) == list(now)[1:]


def test_a_slice_that_is_mostly_forgotten_is_written_anew() -> None:
    store = MemoryBlobs()
    operator = make(store)
    rows = numbered(*range(100))
    assert batch_of(operator, rows) == rows
    batch_of(operator, [], Punctuation(50))
    assert stored([store]) == 100
    batch_of(operator, [], Punctuation(51))
    assert stored([store]) == 49
    assert batch_of(operator, rows[51:] + numbered(100)) == numbered(100)
    assert batch_of(make(store), rows[51:] + numbered(100, 101)) == numbered(101)


def test_what_the_low_watermark_passes_at_once_is_not_written() -> None:
    store = MemoryBlobs()
    rows = numbered(1, 2, 2, 8)
    assert batch_of(make(store), rows, Punctuation(3)) == numbered(1, 2, 8)
    assert stored([store]) == 1


def test_many_small_slices_are_put_together() -> None:
    store = MemoryBlobs()
    operator = make(store)
    for time in range(unique_tuples.MOST_SLICES + 1):
        batch_of(operator, numbered(time), Punctuation(0))
    assert len(dict(store.scan(SEEN))) == unique_tuples.MOST_SLICES + 1
    batch_of(operator, [], Punctuation(0))
    assert len(dict(store.scan(SEEN))) == 1
    assert batch_of(operator, numbered(0, 100, 300)) == numbered(300)


def test_neither_the_end_nor_a_group_moves_the_low_watermark() -> None:
    operator = make(MemoryBlobs())
    rows = numbered(5)
    assert batch_of(operator, rows, Punctuation(4), Punctuation(9, final=True)) == rows
    assert operator.promise == 4
    assert batch_of(operator, rows + numbered(4), Punctuation(9, group=(("k", "a"),))) == numbered(4)
    assert operator.promise == 4
    assert batch_of(operator, [], Punctuation(2)) == []
    assert operator.promise == 4
    assert operator.process(table(numbered(3))) == 1


def test_state_holds_no_text_of_tuples_that_are_gone() -> None:
    store = MemoryBlobs()
    rows: list[Row] = [(time, str(time) * 1000, 0.5, 1) for time in range(200)]
    batch_of(make(store), rows, Punctuation(199))
    assert stored([store]) == 1
    assert sum(len(blob) for blob in store.blobs.values()) < 10_000


MOMENT = datetime(2000, 1, 1, tzinfo=UTC)

TYPED: list[tuple[pa.DataType, list[Any]]] = [
    (pa.large_string(), ["a", "a", None, None, "b"]),
    (pa.binary(), [b"a", b"a", None, None, b""]),
    (pa.bool_(), [True, True, None, None, False]),
    (pa.int8(), [1, 1, None, None, 0]),
    (pa.float32(), [math.nan, math.nan, -0.0, 0.0, None]),
    (pa.decimal128(10, 2), [Decimal("1.10"), Decimal("1.10"), None, None, Decimal(0)]),
    (pa.date32(), [date(2000, 1, 1), date(2000, 1, 1), None, None, date(1960, 1, 1)]),
    (pa.timestamp("us", "UTC"), [MOMENT, MOMENT, None, None, MOMENT - timedelta(days=20000)]),
    (pa.list_(pa.string()), [["a", None], ["a", None], None, None, []]),
    (pa.list_(pa.float64()), [[0.0], [-0.0], [math.nan], [math.nan], [None]]),
    (pa.map_(pa.string(), pa.int64()), [[("a", 1)], [("a", 1)], None, None, []]),
    (pa.struct([("f", pa.float64())]), [{"f": 0.0}, {"f": -0.0}, {"f": math.nan}, {"f": math.nan}, {"f": None}]),
]


@pytest.mark.parametrize(("type_", "values"), TYPED, ids=[str(type_) for type_, _ in TYPED])
def test_values_of_any_type_are_compared_and_pass_as_they_came(type_: pa.DataType, values: list[Any]) -> None:
    """The values are two pairs of equal ones, and one more."""
    stamps = pa.array([MOMENT] * 5, pa.timestamp("us", "UTC"))
    rows = pa.table({"v": pa.array(values, type_), "at": stamps, TIME: stamps.cast(pa.int64())})
    store = MemoryBlobs()
    for first in (0, 1):  # the other of each pair finds its own in the state, or in its batch
        operator = UniqueTuples(("v", "at"), store)
        operator.process(rows.take([first, 2 + first]))
        found = list(operator.end_batch())
        assert [f.num_rows for f in found] == ([2] if not first else [])
    operator = UniqueTuples(("v", "at"), store)
    operator.process(rows.slice(0, 3))
    operator.process(rows.slice(3))
    (found_now,) = operator.end_batch()
    assert found_now.equals(rows.slice(4).drop_columns([TIME]))
    assert found_now.schema.equals(rows.drop_columns([TIME]).schema)
    fresh = UniqueTuples(("v", "at"), MemoryBlobs())
    fresh.process(rows)
    (found_at_once,) = fresh.end_batch()
    assert repr(found_at_once["v"].to_pylist()) == repr(rows["v"].take([0, 2, 4]).to_pylist())
