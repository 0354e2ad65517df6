"""The aggregates of [Bai 2006], tuple by tuple, against what they must answer."""

from __future__ import annotations

import pickle
import random
from collections import deque

import pytest

from millstream.udas.body import one_row_tables
from millstream.udas.generated.compiled import Compiled
from millstream.udas.generated.states import WindowState
from tests.udas import paper
from tests.udas.making import compiled, defined, over

NUMBERS = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]


def windowed(text: str) -> WindowState:
    state = compiled(text).new()
    assert isinstance(state, WindowState)
    return state


def slide(text: str, values: list[float], size: int) -> list[object]:
    """What each tuple returns in a window of so many tuples."""
    state = windowed(text)
    answers: list[object] = []
    for number, value in enumerate(values):
        expired, rows = state.arrive((value,), number, number - size + 1)
        assert not expired
        answers += [row[0] for row in rows]
    return answers


def test_average_answers_at_the_end() -> None:
    assert over(paper.AVERAGE, *[(n,) for n in NUMBERS]) == [(sum(NUMBERS) / 8,)]
    assert over(paper.AVERAGE) == []
    assert over(paper.AVERAGE, (None,), (2.0,)) == [(None,)]


def test_decayed_average() -> None:
    total, expected = 3.0, [3.0]
    for count, number in enumerate(NUMBERS[1:], start=2):
        total = 0.9 * total + 1.1 * number
        expected.append(total / count)
    got = [row[0] for row in over(paper.DECAYED, *[(n,) for n in NUMBERS])]
    assert got == pytest.approx(expected, rel=1e-6)


def test_cumulative_average() -> None:
    got = [row[0] for row in over(paper.CUMULATIVE, *[(n,) for n in NUMBERS])]
    assert got == pytest.approx([sum(NUMBERS[: i + 1]) / (i + 1) for i in range(8)])


@pytest.mark.parametrize("text", [paper.WINDOW_AVERAGE, paper.AVERAGE + ";" + paper.NAIVE_WINDOW])
@pytest.mark.parametrize("size", [1, 3, 100])
def test_window_average(text: str, size: int) -> None:
    expected = [sum(part) / len(part) for i in range(8) if (part := NUMBERS[max(0, i - size + 1) : i + 1])]
    assert slide(text, NUMBERS, size) == pytest.approx(expected)


@pytest.mark.parametrize("size", [1, 2, 5, 50])
def test_window_max_with_pruning(size: int) -> None:
    values = [float(random.Random(7).randrange(100)) for _ in range(300)]
    values = [float(v) for v in random.Random(size).choices(range(50), k=300)]
    expected = [max(values[max(0, i - size + 1) : i + 1]) for i in range(300)]
    assert slide(paper.WINDOW_MAX, values, size) == expected


def test_the_printed_max_drops_the_newcomer() -> None:
    assert slide(paper.PRINTED_MAX, [1.0, 2.0], 5) == [1.0, None]


def test_active_average_answers_when_tuples_leave() -> None:
    state = windowed(paper.ACTIVE_AVERAGE)
    for time, value in enumerate([2.0, 4.0, 9.0]):
        state.arrive((value,), time, -10)
    assert state.expire_before(2) == [(6.5,), (9.0,)]
    assert state.expire_before(10) == [(None,)]
    assert state.oldest_time is None
    assert state.expire() == []


def test_active_max_returns_the_one_that_leaves() -> None:
    state = windowed(paper.ACTIVE_MAX)
    for time, value in enumerate([5.0, 7.0, 3.0]):
        state.arrive((value,), time, -10)
    assert state.expire_before(10) == [(7.0,), (3.0,)]


def test_products_packed_together_are_one_group() -> None:
    second = 1_000_000
    rows = [("a", 0), ("b", second), ("c", 3 * second), ("d", 6 * second), ("e", 7 * second)]
    assert over(paper.GROUPING, *rows) == [("a", 1), ("b", 1), ("c", 1), ("d", 2), ("e", 2)]


def thefts(readings: list[tuple[int, str, int]], span: int) -> list[int]:
    """Items with nobody authorized within a span before or after, by looking at all pairs."""
    passed = [time for _, kind, time in readings if kind == "ap"]
    return [tag for tag, kind, time in readings if kind == "item" and not any(abs(time - p) <= span for p in passed)]


@pytest.mark.parametrize("seed", range(20))
def test_theft_alarm(seed: int) -> None:
    chance = random.Random(seed)
    readings, time = [], 0
    for tag in range(60):
        time += chance.randrange(1, 9)
        readings.append((tag, "ap" if chance.random() < 0.3 else "item", time))
    state = windowed(paper.ALARM)
    alarms = 0
    for tag, kind, at in readings:
        # Active expiration: what left before this reading is told before it.
        expired, rows = state.arrive((tag, kind, at), at, at - 5)
        assert rows == []
        assert {row[0] for row in expired} <= {"larceny alarm"}
        alarms += len(expired)
    alarms += len(state.expire_before(10**9))
    assert alarms == len(thefts(readings, 5))


@pytest.mark.parametrize("size", [5, 40])
def test_frequent_items_by_counting_filters(size: int) -> None:
    chance = random.Random(size)
    state = windowed(paper.FREQUENT)
    window: deque[int] = deque(maxlen=size)
    for number in range(400):
        item = int(chance.paretovariate(1.0)) % 200
        window.append(item)
        _, ((answered, count),) = state.arrive((item,), number, number - size + 1)
        slots = [[(i * f) % 64 for i in window] for f in (7919, 104729, 1299709)]
        own = [(item * f) % 64 for f in (7919, 104729, 1299709)]
        assert answered == item
        assert count == min(s.count(o) for s, o in zip(slots, own, strict=True))
        assert count >= window.count(item)


@pytest.mark.parametrize("name", paper.ALL)
def test_states_travel(name: str) -> None:
    made = compiled(paper.ALL[name])
    copy: Compiled = pickle.loads(pickle.dumps(made))
    assert copy.source == made.source
    types = [p.type.name for p in made.body.parameters]
    chance = random.Random(3)

    def values(time: int) -> tuple[object, ...]:
        kinds = {"string": chance.choice(["ap", "item"]), "timestamp": time, "int32": chance.randrange(9)}
        return tuple(kinds.get(t, float(chance.randrange(9))) for t in types)

    one, other = made.new(), copy.new()
    for time in range(30):
        row = values(time)
        if isinstance(one, WindowState) and isinstance(other, WindowState):
            assert one.arrive(row, time, time - 7) == other.arrive(row, time, time - 7)
        else:
            assert one.add(*row) == other.add(*row)
        other = copy.from_plain(pickle.loads(pickle.dumps(other.to_plain())))
    assert one.to_plain() == other.to_plain()


def test_blocking_is_told_from_the_text() -> None:
    blocking = {
        name: getattr(defined(text).definition, "blocking", None)
        for name, text in paper.ALL.items()
        if name in {"average", "decayed", "cumulative"}
    }
    assert blocking == {"average": True, "decayed": False, "cumulative": False}


def test_tables_of_one_row_become_variables() -> None:
    assert one_row_tables(compiled(paper.AVERAGE).body) == ("state",)
    assert one_row_tables(compiled(paper.FREQUENT).body) == ()
    assert "Table(" not in compiled(paper.AVERAGE).source
