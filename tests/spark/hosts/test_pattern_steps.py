"""Filters that differ in constants alone are looked up, and give what each gives by itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from millstream.operators.match import pattern as pattern_module
from millstream.operators.match import predicate_index
from millstream.operators.match.pattern import PatternGroup
from millstream.spark.hosts.common_steps import CommonSteps
from millstream.spark.hosts.member import Member
from millstream.spark.hosts.pattern_steps import PatternSteps, by_pattern, steps_for
from tests.spark.hosts import test_members

STREAM = """CREATE STREAM s (ts TIMESTAMP, k INT, v BIGINT, x DOUBLE, name STRING, day DATE, d DECIMAL(9, 2), b BOOLEAN)
    SOURCE 'parquet:in'; CREATE STREAM t AS SELECT k, v * 2 AS w, name FROM s WHERE v >= 0;"""

PATTERNS: dict[str, Callable[[int], str]] = {
    "equal": lambda n: f"SELECT k, v FROM s WHERE k = {n % 7}",
    "equal and above": lambda n: f"SELECT ts, v, x FROM s WHERE k = {n % 7} AND v > {n}",
    "between": lambda n: f"SELECT v, {n} AS mine FROM s WHERE v BETWEEN {n} AND {n + 3}",
    "turned": lambda n: f"SELECT v FROM s WHERE {n} <= v AND {n + 5} > v AND name <> 'n1'",
    "of another type": lambda n: f"SELECT v FROM s WHERE k = {3_000_000_000 if n == 4 else n}",
    "computed": lambda n: f"SELECT x * {n + 0.5} AS y, concat(name, '_{n}') AS z FROM s WHERE v % 10 = {n % 10}",
    "fraction": lambda n: f"SELECT x FROM s WHERE x >= {n / 20}",
    "not a number": lambda n: f"SELECT x, k FROM s WHERE k = {n % 3} AND x > {n / 10}",
    "text": lambda n: f"SELECT name, upper(name) AS u FROM s WHERE name = 'n{n % 4}'",
    "prefix": lambda n: f"SELECT name FROM s WHERE startswith(name, 'n{n % 4}')",
    "day": lambda n: f"SELECT day, v FROM s WHERE day = DATE '2026-01-{n % 9 + 1:02d}'",
    "moment": lambda n: f"SELECT ts FROM s WHERE ts > TIMESTAMP '2026-01-01 00:00:{n:02d}' AND k = 1",
    "decimal": lambda n: f"SELECT d FROM s WHERE d = {n}.25",
    "truth": lambda n: f"SELECT k FROM s WHERE b = {n % 2 == 0} AND k = {n % 5}",
    "checked": lambda n: f"SELECT k FROM s WHERE k = {n % 7} AND (v > {n} OR name IS NULL)",
    "derived": lambda n: f"SELECT w + {n} AS w FROM t WHERE name = 'n{n % 4}' AND w > {n}",
    "below": lambda n: f"SELECT y + 1 AS z FROM (SELECT v * {n + 1} AS y, k FROM s WHERE k = {n % 6}) AS r",
    "never": lambda n: f"SELECT k FROM s WHERE k = {n % 7} AND {n} > 5",
}


def tuples(rows: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    numbers = random.integers(-3, 60, rows).tolist()

    def drawn(values: list[object]) -> list[object]:
        return [None if random.random() < 0.1 else value for value in values]

    return pa.table({
        "ts": pa.array([start + timedelta(seconds=n) for n in numbers], pa.timestamp("us", tz="UTC")),
        "k": pa.array(drawn(random.integers(0, 8, rows).tolist()), pa.int32()),
        "v": pa.array(drawn(numbers), pa.int64()),
        "x": pa.array(drawn([float("nan") if n == 7 else n / 10 for n in numbers]), pa.float64()),
        "name": pa.array(drawn([f"n{n % 5}x{n}" if n % 2 else f"n{n % 5}" for n in numbers]), pa.string()),
        "day": pa.array(drawn([date(2026, 1, n % 9 + 1) for n in numbers]), pa.date32()),
        "d": pa.array(drawn([Decimal(n) + Decimal("0.25") for n in numbers]), pa.decimal128(9, 2)),
        "b": pa.array(drawn([n % 3 == 0 for n in numbers]), pa.bool_()),
    })  # fmt: skip


def members(folder: Path, monkeypatch: pytest.MonkeyPatch, queries: dict[str, str]) -> list[Member]:
    monkeypatch.setattr(test_members, "STREAM", STREAM)
    monkeypatch.setattr(test_members, "QUERIES", queries)
    return [member for member, _ in test_members.members(folder, list(queries)).values()]


def listed(found: dict[str, pa.Table]) -> dict[str, list[str]]:
    """Rows as texts, in which NaN equals itself; of those that have some."""
    return {who: [str(row) for row in table.to_pylist()] for who, table in found.items() if table.num_rows}


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("most", [0.0, 1.0])
def test_each_has_what_it_has_by_itself(
    name: str, most: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pattern_module, "MOST_PASS", most)
    monkeypatch.setattr(pattern_module, "AT_ONCE", 100)
    monkeypatch.setattr(predicate_index, "MOST_PAIRS", 64)
    here = members(tmp_path, monkeypatch, {f"q{n}": PATTERNS[name](n) for n in range(25)})
    (group,) = by_pattern(here)
    assert len(group) >= {"of another type": 24, "never": 19}.get(name, 25)
    for seed, rows in enumerate([0, 1, 300, 2000]):
        given = tuples(rows, seed)
        alone, problems = CommonSteps({member.id: member.before for member in here}).rows(given)
        found, failed = PatternSteps(here).rows(given)
        assert not problems
        assert not failed
        assert listed(found) == listed(alone)
        assert {m.id: t.schema.types for m in here if (t := found.get(m.id)) is not None} == {
            m.id: m.columns.types for m in here if m.id in found
        }
    looked_up = PatternGroup({m.id: m.pattern for m in group if m.pattern is not None}).rows(tuples(2000, 1))
    assert (looked_up is None) == (most == 0.0), "the way is the one that is tested"


def test_other_queries_have_no_pattern_in_common(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = {
        **{f"like{n}": f"SELECT name FROM s WHERE name LIKE '%{n}'" for n in range(10)},
        **{f"many{n}": f"SELECT k FROM s WHERE k <> {n}" for n in range(10)},
        **{f"few{n}": f"SELECT k FROM s WHERE k = {n}" for n in range(7)},
        **{f"named{n}": f"SELECT k AS k{n} FROM s WHERE k = {n}" for n in range(10)},
        **{f"later{n}": f"SELECT y FROM (SELECT x * {n} AS y FROM s) AS r WHERE y * y > {n}" for n in range(10)},
    }
    assert by_pattern(members(tmp_path, monkeypatch, queries)) == []


def test_tuples_that_pass_late_in_a_chunk_are_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first tuples say is not believed of the rest."""
    here = members(tmp_path, monkeypatch, {f"q{n}": f"SELECT v FROM s WHERE v > {n}" for n in range(20)})
    group = PatternGroup({m.id: m.pattern for m in here if m.pattern is not None})
    given = tuples(1, 1)
    low, high = (
        pa.table({**{f.name: pa.nulls(3000, f.type) for f in given.schema}, "v": pa.array([value] * 3000, pa.int64())})
        for value in (0, 99)
    )
    assert group.rows(low) == {}
    assert group.rows(pa.concat_tables([low, high])) is None


def test_a_member_that_fails_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = members(tmp_path, monkeypatch, {f"q{n}": f"SELECT v FROM s WHERE k = {n}" for n in range(10)})
    given = tuples(500, 3)
    expected, _ = CommonSteps({member.id: member.before for member in here}).rows(given)

    def broken(*_: object) -> None:
        raise ValueError("of one of them")

    monkeypatch.setattr(PatternGroup, "rows", broken)
    found, failed = PatternSteps(here).rows(given)
    assert (listed(found), failed) == (listed(expected), {})


def test_steps_are_made_anew_when_members_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tuple(members(tmp_path, monkeypatch, {f"q{n}": f"SELECT v FROM s WHERE k = {n}" for n in range(10)}))
    first = steps_for(here)
    assert steps_for(tuple(here)) is first
    fewer = steps_for(here[:9])
    assert fewer is not first
    assert set(fewer.rows(tuples(500, 3))[0]) <= {f"q{n}" for n in range(9)}
