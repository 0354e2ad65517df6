"""User-defined aggregates, and next to each the same thing written by hand: a function of the tuples in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from millstream.udas.choose_form import grouped_aggregate, sql_aggregate
from millstream.udas.online import OnlineAggregate
from millstream.udas.sql_aggregate import Seen, SqlAggregate, Versions, in_order
from tests.operators.over.test_over import SLACK, Row, Stream
from tests.udas.making import compiled

Values = tuple[Any, ...]
Hand = Callable[[Sequence[Values]], list[Values]]


@cache
def declared(base: str | None, window: str | None) -> Versions:
    """The versions that texts declare."""
    return Versions(*(compiled(text).body if text else None for text in (base, window)))


@dataclass(frozen=True)
class Known:
    """An aggregate with the versions that are declared, and what it must return over tuples in their order.

    It runs as a class of Python, or if it is `fast` in the form that the system chooses for it. One that is `online`
    returns all its answers over a window.
    """

    name: str
    hand: Hand
    base: str | None = None
    window: str | None = None
    fast: bool = False
    online: bool = False

    @property
    def versions(self) -> Versions:
        return declared(self.base, self.window)

    @property
    def aggregate(self) -> SqlAggregate:
        if self.online:
            return grouped_aggregate(self.versions) if self.fast else OnlineAggregate(self.versions)
        return sql_aggregate(self.versions) if self.fast else SqlAggregate(self.versions)

    @property
    def by_hand(self) -> SqlAggregate:
        return ByHand(self.versions, self.hand)


class ByHand(SqlAggregate):
    """Keeps all tuples and answers by the function."""

    def __init__(self, versions: Versions, hand: Hand) -> None:
        super().__init__(without_parts(versions))
        self._hand = hand

    def run(self, seen: list[Seen] | None) -> list[Values]:
        return self._hand([values for _, values in sorted(seen, key=in_order)]) if seen else []


def without_parts(versions: Versions) -> Versions:
    """The versions as if none were ALGEBRAIC."""
    bodies = (body and replace(body, algebraic=False) for body in (versions.base, versions.window))
    return Versions(*bodies)


def given_values(tuples: Sequence[Values]) -> list[Any]:
    return [v for (v,) in tuples if v is not None]


def mean_or_null(tuples: Sequence[Values]) -> list[Values]:
    if len(given_values(tuples)) < len(tuples):
        return [(None,)]
    return [(sum(v for (v,) in tuples) / len(tuples),)]


def mean(tuples: Sequence[Values]) -> list[Values]:
    values = given_values(tuples)
    return [(sum(values) / len(values) if values else None,)]


def rising(tuples: Sequence[Values]) -> list[Values]:
    longest = current = 1
    for (a,), (b,) in pairwise(tuples):
        current = current + 1 if a is not None and b is not None and b > a else 1
        longest = max(longest, current)
    return [(longest, current)]


def decayed(tuples: Sequence[Values]) -> list[Values]:
    total: float | None = None
    for value in given_values(tuples):
        total = float(value) if total is None else 0.5 * total + value
    return [] if total is None else [(total,)]


def tally(tuples: Sequence[Values]) -> list[Values]:
    return sorted(Counter(given_values(tuples)).items())


MEAN = """
CREATE AGGREGATE mymean (x DOUBLE) : DOUBLE {
  TABLE state (s DOUBLE, n INT);
  INITIALIZE: { INSERT INTO state VALUES (x, 1); }
  ITERATE: { UPDATE state SET s = s + x, n = n + 1; }
  TERMINATE: { INSERT INTO RETURN SELECT s / n FROM state; }
}"""

WINDOW_MEAN = """
CREATE WINDOW AGGREGATE wmean (x DOUBLE) : DOUBLE {
  TABLE state (s DOUBLE, n INT) AS VALUES (0.0, 0);
  TABLE inwindow (w DOUBLE);
  INITIALIZE: ITERATE: {
    UPDATE state SET s = s + coalesce(x, 0.0), n = n + CASE WHEN x IS NULL THEN 0 ELSE 1 END;
    INSERT INTO RETURN SELECT CASE WHEN n > 0 THEN s / n END FROM state;
  }
  EXPIRE: {
    UPDATE state SET s = s - coalesce(oldest().w, 0.0), n = n - CASE WHEN oldest().w IS NULL THEN 0 ELSE 1 END;
  }
}"""

ENDING_MEAN = """
CREATE WINDOW AGGREGATE emean (x DOUBLE) : DOUBLE {
  TABLE state (s DOUBLE, n INT) AS VALUES (0.0, 0);
  INITIALIZE: ITERATE: {
    UPDATE state SET s = s + coalesce(x, 0.0), n = n + CASE WHEN x IS NULL THEN 0 ELSE 1 END;
  }
  EXPIRE: {
    UPDATE state SET s = s - coalesce(x, 0.0), n = n - CASE WHEN x IS NULL THEN 0 ELSE 1 END;
  }
  TERMINATE: { INSERT INTO RETURN SELECT CASE WHEN n > 0 THEN s / n END FROM state; }
}"""

PEAK = """
CREATE WINDOW AGGREGATE peak (x BIGINT) : BIGINT {
  TABLE inwindow (w BIGINT);
  INITIALIZE: { INSERT INTO RETURN VALUES (x); }
  ITERATE: {
    DELETE FROM inwindow WHERE w < x OR (w IS NULL AND x IS NOT NULL);
    INSERT INTO RETURN VALUES (oldest());
  }
  EXPIRE: { }
}"""

RISING = """
CREATE AGGREGATE rising (x BIGINT) : (longest INT, run INT) {
  TABLE state (last BIGINT, longest INT, run INT);
  INITIALIZE: { INSERT INTO state VALUES (x, 1, 1); INSERT INTO RETURN VALUES (1, 1); }
  ITERATE: {
    UPDATE state SET run = CASE WHEN x > last THEN run + 1 ELSE 1 END, last = x;
    UPDATE state SET longest = run WHERE run > longest;
    INSERT INTO RETURN SELECT longest, run FROM state;
  }
}"""

DECAYED = """
CREATE AGGREGATE decayed (x BIGINT) : DOUBLE {
  TABLE state (s DOUBLE);
  INITIALIZE: ITERATE: {
    UPDATE state SET s = 0.5 * s + x WHERE x IS NOT NULL;
    INSERT INTO state VALUES (x) WHERE x IS NOT NULL AND NOT EXISTS (SELECT s FROM state);
    INSERT INTO RETURN SELECT s FROM state;
  }
}"""

ENDS = """
CREATE WINDOW AGGREGATE ends (x BIGINT) : (first BIGINT, last BIGINT) {
  TABLE inwindow (w BIGINT);
  INITIALIZE: ITERATE: { INSERT INTO RETURN VALUES (oldest().w, x); }
}"""

EVENS = """
CREATE WINDOW AGGREGATE evens (x BIGINT) : BIGINT {
  TABLE inwindow (w BIGINT);
  INITIALIZE: ITERATE: { INSERT INTO RETURN SELECT w FROM inwindow WHERE w % 2 = 0; }
}"""

TALLY = """
CREATE WINDOW AGGREGATE tally (x BIGINT) : (v BIGINT, n INT) {
  TABLE items (v BIGINT, n INT);
  INITIALIZE: ITERATE: {
    INSERT INTO items VALUES (x, 0) WHERE x IS NOT NULL AND NOT EXISTS (SELECT v FROM items WHERE v = x);
    UPDATE items SET n = n + 1 WHERE v = x;
    INSERT INTO RETURN SELECT v, n FROM items ORDER BY v;
  }
  EXPIRE: {
    UPDATE items SET n = n - 1 WHERE v = oldest().x;
    DELETE FROM items WHERE n = 0;
  }
}"""

TOTAL = """
CREATE ALGEBRAIC AGGREGATE total (x BIGINT) : BIGINT {
  TABLE state (s BIGINT);
  INITIALIZE: { INSERT INTO state VALUES (x); }
  ITERATE: { UPDATE state SET s = coalesce(s + x, s, x); }
  TERMINATE: { INSERT INTO RETURN SELECT s FROM state; }
}"""

WINDOW_TOTAL = """
CREATE ALGEBRAIC WINDOW AGGREGATE wtotal (x BIGINT) : BIGINT {
  TABLE state (s BIGINT) AS VALUES (0);
  INITIALIZE: ITERATE: { UPDATE state SET s = s + coalesce(x, 0); INSERT INTO RETURN SELECT s FROM state; }
  EXPIRE: { UPDATE state SET s = s - coalesce(oldest().x, 0); }
}"""

HIGHEST = """
CREATE ALGEBRAIC AGGREGATE highest (x BIGINT) : BIGINT {
  TABLE state (m BIGINT);
  INITIALIZE: { INSERT INTO state VALUES (x); INSERT INTO RETURN VALUES (x); }
  ITERATE: { UPDATE state SET m = x WHERE m IS NULL OR x > m; INSERT INTO RETURN SELECT m FROM state; }
}"""

TOP = """
CREATE ALGEBRAIC AGGREGATE top (x BIGINT) : BIGINT {
  TABLE best (v BIGINT);
  INITIALIZE: ITERATE: { INSERT INTO best VALUES (x) WHERE x IS NOT NULL; }
  TERMINATE: { INSERT INTO RETURN SELECT v FROM best ORDER BY v DESC LIMIT 3; }
}"""


def _forms(*plain: Known) -> list[Known]:
    """Each as it is, and in the form that the system chooses where that is another."""
    fast = [replace(known, name=f"{known.name}, fast", fast=True) for known in plain]
    pairs = zip(plain, fast, strict=True)
    return [*plain, *(quick for slow, quick in pairs if type(quick.aggregate) is not type(slow.aggregate))]


TWICE = """
CREATE AGGREGATE twice (x BIGINT) : BIGINT {
  INITIALIZE: ITERATE: { INSERT INTO RETURN VALUES (2 * x); }
}"""

CLIMB = """
CREATE AGGREGATE climb (x BIGINT) : (high BIGINT, nth INT) {
  TABLE state (high BIGINT, n INT) AS VALUES (NULL, 0);
  INITIALIZE: ITERATE: {
    INSERT INTO RETURN SELECT x, n + 1 FROM state WHERE high IS NULL AND x IS NOT NULL OR x > high;
    UPDATE state SET high = x, n = n + 1 WHERE high IS NULL AND x IS NOT NULL OR x > high;
  }
}"""

BOTH = """
CREATE AGGREGATE early (x BIGINT) : BIGINT {
  TABLE state (s BIGINT);
  INITIALIZE: { INSERT INTO state VALUES (coalesce(x, 0)); INSERT INTO RETURN VALUES (x); }
  ITERATE: { UPDATE state SET s = s + coalesce(x, 0); INSERT INTO RETURN VALUES (x) WHERE x > 0; }
  TERMINATE: { INSERT INTO RETURN SELECT s FROM state; }
}"""


def climb(tuples: Sequence[Values]) -> list[Values]:
    found: list[Values] = []
    for value in given_values(tuples):
        if not found or value > found[-1][0]:
            found.append((value, len(found) + 1))
    return found


def early(tuples: Sequence[Values]) -> list[Values]:
    (first, *rest), total = tuples, sum(given_values(tuples))
    return [first, *((v,) for v in given_values(rest) if v > 0), (total,)]


def so_far(hand: Hand) -> Hand:
    """What an aggregate returns after each tuple, all together."""
    return lambda tuples: [row for n in range(len(tuples)) for row in hand(tuples[: n + 1])]


BASE = _forms(Known("mean", mean_or_null, MEAN), Known("rising", rising, RISING), Known("decayed", decayed, DECAYED))
WINDOW = _forms(
    Known("window mean", mean, window=WINDOW_MEAN),
    Known("mean at the end", mean, window=ENDING_MEAN),
    Known("peak", lambda t: [(max(given_values(t), default=None),)], window=PEAK),
    Known("ends", lambda t: [(t[0][0], t[-1][0])], window=ENDS),
    Known("evens", lambda t: [(v,) for v in given_values(t) if v % 2 == 0], window=EVENS),
    Known("tally", tally, window=TALLY),
)
ALGEBRAIC = _forms(
    Known("total", lambda t: [(sum(v) if (v := given_values(t)) else None,)], TOTAL),
    Known("window total", lambda t: [(sum(given_values(t)),)], window=WINDOW_TOTAL),
    Known(
        "both totals",
        lambda t: [(sum(given_values(t)),)],
        WINDOW_TOTAL.replace("WINDOW ", "").split("EXPIRE")[0] + "}",
        WINDOW_TOTAL,
    ),
    Known("highest", lambda t: [(max(given_values(t), default=None),)], HIGHEST),
    Known("top", lambda t: [(v,) for v in sorted(given_values(t), reverse=True)[:3]], TOP),
)
ONLINE = _forms(
    Known("twice", lambda t: [(None if v is None else 2 * v,) for (v,) in t], TWICE, online=True),
    Known("climb", climb, CLIMB, online=True),
    Known("before and at the end", early, BOTH, online=True),
    Known("every run", so_far(rising), RISING, online=True),
    Known("every high", so_far(lambda t: [(max(given_values(t), default=None),)]), HIGHEST, online=True),
)
EVERY = [*BASE, *WINDOW, *ALGEBRAIC]


@st.composite
def user_streams(draw: st.DrawFn, aggregate: SqlAggregate, nulls: bool = True, most: int = 25) -> Stream:
    """Tuples for an aggregate of one number, in any order within the slack."""
    number = st.integers(-9, 9)
    row = st.tuples(
        st.integers(-20, 30),
        st.none() | st.integers(0, 1),
        st.sampled_from(["a", "b", None]),
        st.integers(0, 2),
        st.sampled_from([True, True, False, None]),
        st.tuples(st.none() | number if nulls else number),
        st.integers(0, SLACK),
    )
    drawn = draw(st.lists(row, min_size=1, max_size=most))
    ids = draw(st.permutations(range(len(drawn))))
    drawn.sort(key=lambda r: r[0] + r[-1])
    arrived = [Row(r[0], r[1], i, *r[2:6]) for i, r in zip(ids, drawn, strict=True)]
    cuts = sorted(draw(st.lists(st.integers(0, len(drawn)), max_size=4)))
    return Stream(aggregate, arrived, cuts, draw(st.booleans()), draw(st.integers(1, 7)))


def state_of(aggregate: SqlAggregate, values: Sequence[Any], times: Sequence[int]) -> Any:
    """The state of one group that has seen some numbers."""
    groups = np.zeros(len(values), dtype=np.int64)
    column = pa.array(values, aggregate.arguments[0])
    return aggregate.reduce(aggregate.zero(1), groups, [column], np.array(times, dtype=np.int64))
