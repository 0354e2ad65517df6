"""Aggregates in Python: the laws of the contract in every form of a class, every window, and what goes wrong."""

from __future__ import annotations

import logging
import pickle
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream
from millstream.aggregates.count_star import CountStar
from millstream.aggregates.evaluation import over_frames, over_panes
from millstream.aggregates.max import Max
from millstream.aggregates.min import Min
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import PythonAggregate
from millstream.errors import EslError, NotYet, Refused, SettingError, TypeMismatch
from millstream.language.binder import bind
from millstream.language.bound import Define, Rows
from millstream.language.parser import statements
from millstream.operators.ordered.row_windows import RowWindows
from millstream.operators.ordered.session_windows import SessionWindows
from millstream.operators.ordered.slide_by_tuple import SlideByTupleWindows
from millstream.operators.over.over import OverAggregate
from millstream.operators.over.over_aggregate_job import OverAggregateJob, OverCall
from millstream.operators.panes.from_first import FromFirst
from millstream.operators.window_aggregate_job import Call, WindowAggregateJob
from millstream.plan.build import build
from millstream.plan.explain import explain
from millstream.plan.passes import apply_passes
from millstream.spark.process.failures import explain_failure
from millstream.udas.bind.declare import adopt
from millstream.udas.python.aggregate import PyAggregate
from millstream.udas.python.declaration import ClassProblem, check_class, find_class
from millstream.udas.python.errors import UserCodeError
from millstream.windows import Cumulate, Landmark, Session, SlideByTuple, Sliding
from millstream.windows import Rows as RowWindow
from millstream.windows.over_range import OverRange
from millstream.windows.over_rows import OverRows
from tests.drawing import drawn
from tests.language.auctions import catalog
from tests.operators.harness import COUNT, KEYS, Case, assert_same, check, finals, numbers, run, schedules, whole
from tests.operators.ordered.test_row_windows import KEYS as ROW_KEYS
from tests.operators.over.test_over import Stream, streams
from tests.udas import classes as c

SPREADS = (c.Spread, c.StructSpread, c.DataclassSpread, c.BatchSpread)
MEANS = (c.Mean, c.BatchMean)
EVERY = (*SPREADS, *MEANS, c.Commonest)
PLACE = "tests.udas.classes"
few = drawn(15)
every = pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
spreads = pytest.mark.parametrize("cls", SPREADS, ids=lambda cls: cls.__name__)


def made(cls: type, result: pa.DataType | None = None) -> PyAggregate:
    outputs: tuple[tuple[str, pa.DataType], ...] = (("r", result or pa.int64()),)
    if cls in MEANS:
        outputs = (("r", pa.float64()),)
    if cls is c.Commonest:
        outputs = (("value", pa.int64()), ("times", pa.int32()))
    return PyAggregate(cls.__name__.lower(), cls, [pa.int64()], outputs)


def by_hand(cls: type, values: list[int]) -> Any:
    if not values:
        return [] if cls is c.Commonest else None
    if cls in MEANS:
        return sum(values) / len(values)
    if cls is c.Commonest:
        times, value = max((values.count(v), v) for v in values)
        return [{"value": value, "times": times}]
    return max(values) - min(values)


@dataclass
class Tuples:
    groups: list[int]
    values: list[int | None]

    def state(self, aggregate: PyAggregate, start: int = 0, end: int | None = None) -> Any:
        part = slice(start, end)
        groups = np.array(self.groups[part], dtype=np.int64)
        values = pa.array(self.values[part], pa.int64())
        return aggregate.reduce(aggregate.zero(3), groups, [values], np.arange(len(groups))[::-1].copy())

    def of(self, group: int) -> list[int]:
        return [v for g, v in zip(self.groups, self.values, strict=True) if g == group and v is not None]


PAIRS = st.lists(st.tuples(st.integers(0, 2), st.none() | st.integers(-9, 9)), max_size=25)


@every
@drawn(60)
@given(pairs=PAIRS, cut=st.integers(0, 25))
def test_the_merge_of_parts_is_the_whole(cls: type, pairs: list[tuple[int, int | None]], cut: int) -> None:
    tuples = Tuples([g for g, _ in pairs], [v for _, v in pairs])
    aggregate = pickle.loads(pickle.dumps(made(cls)))
    left, right = tuples.state(aggregate, 0, cut), tuples.state(aggregate, cut)
    before = [aggregate.finish(s).to_pylist() for s in (left, right)]
    expected = [by_hand(cls, tuples.of(group)) for group in range(3)]
    answers = aggregate.finish(tuples.state(aggregate))
    assert answers.type == aggregate.result
    assert answers.to_pylist() == expected
    packed = [aggregate.pack(state) for state in (left, right)]
    assert [[column.type for column in columns] for columns in packed] == [list(aggregate.components)] * 2
    merged = aggregate.merge(*(aggregate.unpack(columns) for columns in packed))
    assert aggregate.finish(merged).to_pylist() == expected
    assert aggregate.finish(aggregate.merge(left, right)).to_pylist() == expected
    assert aggregate.finish(aggregate.merge(right, left)).to_pylist() == expected
    assert [aggregate.finish(s).to_pylist() for s in (left, right)] == before, "merge changed what it was given"
    if aggregate.removable:
        rest = aggregate.finish(aggregate.remove(merged, right)).to_pylist()
        assert rest == before[0]


def test_forms_decide_how_windows_are_computed() -> None:
    assert [made(cls).removable for cls in EVERY] == [False] * 4 + [True] * 3
    assert over_panes(made(c.Mean)) == "running total"
    assert over_panes(made(c.Spread)) == over_panes(made(c.Commonest)) == "two stacks"
    assert {over_frames(made(cls)) for cls in EVERY} == {"merge tree"}


# -- every window ------------------------------------------------------------------------------------------


def beside(cls: type, names: tuple[str, ...] = ("v",)) -> tuple[Call, ...]:
    """The calls of a class and of the built-in aggregates that say the same."""
    largest, smallest = Max([pa.int64()]), Min([pa.int64()])
    py = made(cls)
    calls = (Call(py, names, names=("own",)), Call(py, names, "wanted", ("filtered",)))
    return (COUNT, *calls, Call(largest, names, names=("high",)), Call(smallest, names, names=("low",)))


def assert_own(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        assert row["own"] == (None if row["high"] is None else row["high"] - row["low"])


@spreads
@few
@given(data=st.data(), kind=st.sampled_from(["sliding", "cumulate", "landmark", "session", "first"]))
def test_grouped_windows(cls: type, data: st.DataObject, kind: str) -> None:
    rows = data.draw(numbers())
    steps = st.integers(1, 6)
    if kind == "session":
        job = WindowAggregateJob(KEYS, beside(cls), Session(data.draw(steps)), 1)
        check(Case(job, rows, SessionWindows, whole, 1), data)
        return
    window: Any = {
        "sliding": lambda: Sliding(data.draw(st.integers(1, 17)), data.draw(st.integers(1, 17))),
        "first": lambda: Sliding(data.draw(steps), data.draw(steps)),
        "cumulate": lambda: Cumulate(2, 2 * data.draw(steps)),
        "landmark": lambda: Landmark(data.draw(st.integers(5, 17))),
    }[kind]()
    job = WindowAggregateJob(KEYS, beside(cls), window, from_first=kind == "first")
    if kind == "first":
        out = run(Case(job, rows, FromFirst, whole), data.draw(schedules(rows["__time"].to_pylist())))
        moved = replace(job, window=replace(window, origin=min(rows["__time"].to_pylist())), from_first=False)
        assert_same(out.of("final"), finals(moved, rows))
    else:
        out = check(Case(job, rows), data)
    for _, (_, own, _, high, low) in out.answers:
        assert own == (None if high is None else high - low)


@st.composite
def spread_streams(draw: st.DrawFn, cls: type) -> Stream:
    drawn = draw(streams(CountStar))
    values = st.none() | st.integers(-9, 9)
    return replace(
        drawn, aggregate=made(cls), arrived=[replace(row, arguments=(draw(values),)) for row in drawn.arrived]
    )


@spreads
@few
@given(data=st.data(), by_tuple=st.booleans(), size=st.integers(1, 6), slide=st.integers(1, 4))
def test_windows_of_rows(cls: type, data: st.DataObject, by_tuple: bool, size: int, slide: int) -> None:
    stream = data.draw(spread_streams(cls))
    window = SlideByTuple(size, slide) if by_tuple else RowWindow(size, slide)
    job = WindowAggregateJob(ROW_KEYS, beside(cls, ("x0",)), window, 1)
    make: Any = partial(SlideByTupleWindows if by_tuple else RowWindows, job)
    for table in stream.run(make, ["k"]):
        assert_own(table.to_pylist())


@spreads
@few
@given(data=st.data(), window=st.sampled_from([OverRange(5), OverRange(None), OverRows(3), OverRows(None)]))
def test_over(cls: type, data: st.DataObject, window: OverRange | OverRows) -> None:
    stream = data.draw(spread_streams(cls))
    calls = tuple(OverCall(call, window) for call in beside(cls, ("x0",))[1:])
    work = OverAggregateJob((("k", pa.string()),), calls, ("id",))
    answers = [row for table in stream.run(partial(OverAggregate, work), ["k"]) for row in table.to_pylist()]
    assert len(answers) == len(stream.arrived)
    assert_own(answers)


# -- declaring and calling ---------------------------------------------------------------------------------


def bound(text: str, known: Catalog | None = None) -> Any:
    known = known or catalog()
    found = None
    for statement in statements(text):
        found = bind(statement, known)
        if isinstance(found, Define):
            if found.load is not None:
                found = replace(found, warnings=found.load())
            known.add(found.definition)
    return found


CREATE = f"CREATE AGGREGATE spread (x BIGINT) : BIGINT LANGUAGE PYTHON '{PLACE}:%s';"


def test_created_and_called() -> None:
    define = bound(CREATE % "Spread")
    assert "no reduce_batch" in define.warnings[0]
    assert not bound(CREATE % "BatchSpread").warnings
    rows = bound(
        CREATE % "Spread"
        + "SELECT item_id, Spread(item_id) [RANGE 1 MINUTE, WA start_time] FROM open_auction GROUP BY item_id"
    )
    assert isinstance(rows, Rows)
    assert rows.select.schema.names == ("item_id", "SPREAD(item_id)")
    assert [str(column.type) for column in rows.select.schema][1] == "BIGINT"
    two = f"CREATE AGGREGATE common (x BIGINT) : (value BIGINT, times INT) LANGUAGE PYTHON '{PLACE}:Commonest';"
    rows = bound(two + "SELECT common(item_id) [RANGE 1 MINUTE, WA start_time] FROM open_auction")
    assert rows.select.schema.names == ("value", "times")


WRONG = {
    "nowhere:Spread": "there is no Python module 'nowhere'",
    f"{PLACE}:Nobody": f"there is no class 'Nobody' in {PLACE}",
    f"{PLACE}:NoMerge": "NoMerge has no merge",
    f"{PLACE}:NeedsArguments": r"NeedsArguments\(\) cannot be made",
}


@pytest.mark.parametrize("place", WRONG)
def test_classes_that_cannot_be_used(place: str) -> None:
    with pytest.raises(Refused, match=WRONG[place]) as caught:
        bound(f"CREATE AGGREGATE f (x BIGINT) : BIGINT LANGUAGE PYTHON '{place}'")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (
            f"CREATE AGGREGATE f (x INT, y INT) : INT LANGUAGE PYTHON '{PLACE}:Spread'",
            Refused,
            "the state and 2 values",
        ),
        (f"CREATE AGGREGATE f (x MAP<INT, INT>) : INT LANGUAGE PYTHON '{PLACE}:Spread'", NotYet, "cannot have 'x'"),
        (CREATE % "Spread" + "SELECT spread(price) FROM open_auction", Refused, "on a bare stream"),
        (
            CREATE % "Spread" + "SELECT spread() OVER (ROWS 3 PRECEDING) FROM open_auction",
            TypeMismatch,
            "takes 1 argument",
        ),
        (
            CREATE % "Spread" + "SELECT spread(DISTINCT price) OVER (ROWS 3 PRECEDING) FROM open_auction",
            EslError,
            "DISTINCT",
        ),
    ],
)
def test_mistakes(text: str, kind: type[EslError], message: str) -> None:
    with pytest.raises(kind, match=message):
        bound(text)


@pytest.fixture
def declarations(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is declared here is not known to the mills of other tests."""
    monkeypatch.setattr("millstream.udas.bind.declare._declarations", [])


@pytest.mark.usefixtures("declarations")
def test_the_decorator(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "millstream"):

        @millstream.aggregate(name="widest")
        class Widest(c.Spread):
            pass

        @millstream.aggregate(parameters=["BIGINT"], result={"value": "BIGINT", "times": "INT"})
        class Top(c.Commonest):
            pass

    assert [r.message.split(":")[1] for r in caplog.records] == [
        " widest has no reduce_batch",
        " Top has no reduce_batch",
    ]
    known = catalog()
    count = adopt(known, 0)
    assert adopt(known, count) == count
    widest = known.aggregate("WIDEST")
    assert isinstance(widest, PythonAggregate)
    assert (str(widest.parameters), str(widest.result)) == ("x BIGINT", "result BIGINT")
    rows = bound(
        "SELECT widest(item_id) OVER (ROWS 3 PRECEDING) AS w, top(item_id) OVER (ROWS 3 PRECEDING) FROM bid", known
    )
    assert rows.select.schema.names == ("w", "value", "times")
    assert find_class(widest.place) is Widest

    @millstream.aggregate(name="widest")
    class Other(c.BatchSpread):
        def reduce(self, state: Any, x: float) -> Any: ...

        def finish(self, state: Any) -> float | None: ...

    assert adopt(known, count) == count + 1
    assert str(known.aggregate("widest").parameters) == "x DOUBLE"  # type: ignore[union-attr]
    assert Top is not Other


def test_declarations_that_cannot_be_used() -> None:
    for options, message in (
        ({"name": "sum"}, "already a function 'sum'"),
        ({"parameters": ["DOUBLE", "INT"]}, "the state and 2 values"),
        ({"parameters": ["NOTHING AT ALL"]}, "of the type NOTHING AT ALL"),
        ({}, "the type of what finish returns is not known"),
    ):
        with pytest.raises(SettingError, match=message):
            millstream.aggregate(**({"result": "INT"} if options else {}), **options)(type("Made", (c.Commonest,), {}))  # type: ignore[call-overload]


def test_the_cost_that_is_warned_about() -> None:
    """Half a microsecond a tuple and 50 times the batch form, within what a busy machine makes of it."""
    count = 100_000
    groups = np.arange(count, dtype=np.int64) % 1000
    values = [pa.array(np.arange(count))]

    def nanoseconds(cls: type) -> float:
        aggregate = made(cls)
        best = np.inf
        for _ in range(3):
            start = time.perf_counter()
            aggregate.reduce(aggregate.zero(1000), groups, values, groups)
            best = min(best, time.perf_counter() - start)
        return best / count * 1e9

    slow, fast = nanoseconds(c.Mean), nanoseconds(c.BatchMean)
    assert 100 < slow < 10_000
    assert slow > 8 * fast


# -- what goes wrong while it runs -------------------------------------------------------------------------


def reduced(cls: type, *values: int, result: pa.DataType | None = None) -> pa.Array:
    aggregate = made(cls, result)
    column = pa.array(values, pa.int64())
    groups = np.zeros(len(values), dtype=np.int64)
    return aggregate.finish(aggregate.reduce(aggregate.zero(1), groups, [column], groups))


def test_failures_name_the_method_and_the_tuple() -> None:
    with pytest.raises(UserCodeError) as caught:
        reduced(c.Fragile, 1, 13, 5)
    said = str(caught.value)
    assert said.startswith("aggregate fragile: reduce(13) failed: ZeroDivisionError: integer ")
    assert "(classes.py, line " in said
    assert caught.value.group == 0
    assert str(pickle.loads(pickle.dumps(caught.value)).of_group(["a"])) == f"{said}, in the group 'a'"
    trace = f"Job aborted\nCaused by: org.apache.PythonException: Traceback\n x.UserCodeError: {said}\n\tat j"
    assert explain_failure(ValueError(trace)) == said


class ReturnsNothing(c.StructSpread):
    def reduce(self, state: Any, x: int) -> Any:
        state["low"] = x


class Text(c.Spread):
    def finish(self, state: Any) -> Any:
        return "much"


class Leaves(c.Spread):
    def merge(self, a: Any, b: Any) -> Any:
        raise SystemExit(3)


class Halves(c.StructSpread):
    def reduce(self, state: Any, x: int) -> Any:
        return {"low": x / 2, "high": x}


class Writes(c.BatchSpread):
    def merge_batch(self, a: Any, b: Any) -> Any:
        a["low"][:] = 0
        return a


class Short(c.BatchSpread):
    def finish_batch(self, state: Any) -> Any:
        return [1, 2]


def test_other_failures_are_as_clear() -> None:
    for cls, message in (
        (ReturnsNothing, "reduce returned None; it must return the new state"),
        (Text, "finish returned 'much', which is no BIGINT"),
        (Halves, r"'low' is of the type int64, and 1\.0 is not"),
        (Short, "it returned 2 answers for 1 groups"),
    ):
        with pytest.raises(UserCodeError, match=message):
            reduced(cls, 1, 2)
    for cls, message in (
        (Leaves, r"merge\(\[1, 1\], \[1, 1\]\) failed: SystemExit"),
        (Writes, "merge_batch.* read-only"),
    ):
        aggregate = made(cls)
        state = Tuples([0], [1]).state(aggregate)
        with pytest.raises(UserCodeError, match=message):
            aggregate.merge(state, state)


def test_batch_forms_need_a_struct() -> None:
    with pytest.raises(ClassProblem, match="its state is no struct"):
        check_class(type("Odd", (c.Spread,), {"reduce_batch": c.BatchSpread.reduce_batch}), 1)


def test_states_may_be_of_classes_that_cannot_be_imported() -> None:
    @dataclass
    class Seen:
        values: list[int]

    class Keeps:
        def zero(self) -> Any:
            return Seen([])

        def reduce(self, state: Any, x: int) -> Any:
            state.values.append(x)
            return state

        def merge(self, a: Any, b: Any) -> Any:
            return Seen(a.values + b.values)

        def finish(self, state: Any) -> int:
            return len(state.values)

    aggregate = made(Keeps)
    state = Tuples([0, 0, 1], [1, 2, 3]).state(aggregate)
    again = aggregate.unpack(aggregate.pack(state))
    assert aggregate.finish(aggregate.merge(again, state)).to_pylist() == [4, 2, 0]


def test_plans_say_how_they_are_computed() -> None:
    text = "SELECT spread(item_id) [RANGE 1 MINUTE, SLIDE 10 SECONDS, WA start_time] FROM open_auction"
    rows = bound(CREATE % "Spread" + text)
    known = catalog()
    assert "SPREAD(item_id)" in explain(apply_passes(build(rows.select), known))
