"""Conditions on two time stamps become bounds on their difference, however they are written."""

from __future__ import annotations

import pytest

from millstream.catalog.schema import sql_type
from millstream.language.clauses.time_bounds import time_bounds
from tests.expressions.drawn_conditions import tree

SECOND = 1_000_000

TYPES = {**dict.fromkeys("abc", sql_type("timestamp")), "x": sql_type("interval day to second")}


@pytest.mark.parametrize(
    ("written", "low", "high"),
    [
        ("b >= a", 0, None),
        ("b > a", 1, None),
        ("a <= b", 0, None),
        ("a < b", 1, None),
        ("b <= a + INTERVAL '5' SECOND", None, 5 * SECOND),
        ("b < a + INTERVAL '5' SECOND", None, 5 * SECOND - 1),
        ("a + INTERVAL '5' SECONDS >= b", None, 5 * SECOND),
        ("b - INTERVAL '1' MINUTE <= a", None, 60 * SECOND),
        ("b - INTERVAL '1' SECOND > a - INTERVAL '3' SECOND", -2 * SECOND + 1, None),
        ("a = b", 0, 0),
        ("b = a + INTERVAL '1' SECOND", SECOND, SECOND),
        ("b BETWEEN a - INTERVAL '2' SECOND AND a + INTERVAL '3' SECOND", -2 * SECOND, 3 * SECOND),
        ("a BETWEEN b - INTERVAL '3' SECOND AND b + INTERVAL '2' SECOND", -2 * SECOND, 3 * SECOND),
        ("(b > a + INTERVAL '1' HOUR - INTERVAL '1' MINUTE)", 59 * 60 * SECOND + 1, None),
    ],
)
def test_one_condition(written: str, low: int | None, high: int | None) -> None:
    found = time_bounds([tree(written, TYPES)], "a", "b")
    assert (found.low, found.high, found.rest) == (low, high, ())


def test_several_conditions_meet_at_the_narrowest() -> None:
    written = ["b >= a - INTERVAL '9' SECOND", "b >= a - INTERVAL '4' SECOND", "b <= a + INTERVAL '1' HOUR", "b <= a"]
    found = time_bounds([tree(w, TYPES) for w in written], "a", "b")
    assert (found.low, found.high) == (-4 * SECOND, 0)


@pytest.mark.parametrize(
    "written",
    [
        "b > c",
        "b > a + x",
        "b > a + INTERVAL '1' MONTH",
        "b <> a",
        "b > a OR b < a",
        "b > TIMESTAMP '2024-01-01'",
        "b BETWEEN a AND c",
        "abs(b) > a",
    ],
)
def test_what_says_something_else_is_left(written: str) -> None:
    condition = tree(written, TYPES)
    found = time_bounds([condition], "a", "b")
    assert (found.low, found.high, found.rest) == (None, None, (condition,))
