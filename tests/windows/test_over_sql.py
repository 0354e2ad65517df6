"""Frames of OVER against DuckDB, which speaks the same standard SQL."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.windows import Over, OverRange, OverRows, Tuple
from tests.drawing import drawn

ROWS = st.lists(st.tuples(st.integers(-20, 20), st.sampled_from("ab")), min_size=1, max_size=15)
PRECEDING = st.none() | st.integers(0, 8)


@pytest.fixture(scope="module")
def db() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def frames(db: duckdb.DuckDBPyConnection, tuples: list[Tuple], frame: str) -> dict[int, list[int]]:
    values = ", ".join(f"({t.time}, {t.row}, '{t.key}')" for t in tuples)
    sql = f"SELECT r, list(r) OVER (PARTITION BY k ORDER BY {frame}) FROM (VALUES {values}) AS s(t, r, k)"
    return {row: sorted(members) for row, members in db.execute(sql).fetchall()}


def ours(window: Over, tuples: list[Tuple]) -> dict[int, list[int]]:
    return {w: sorted(t.row for t in window.extent(w, tuples)) for w in window.windows(tuples)}


@drawn(50)
@given(drawn=ROWS, preceding=PRECEDING)
def test_frames_are_those_of_duckdb(
    db: duckdb.DuckDBPyConnection, drawn: list[tuple[int, str]], preceding: int | None
) -> None:
    tuples = [Tuple(time, row, key) for row, (time, key) in enumerate(drawn, 1)]
    reach = "UNBOUNDED" if preceding is None else preceding
    assert ours(OverRange(preceding), tuples) == frames(db, tuples, f"t RANGE {reach} PRECEDING")
    assert ours(OverRows(preceding), tuples) == frames(db, tuples, f"t, r ROWS {reach} PRECEDING")
    assert ours(OverRows(preceding, order="row"), tuples) == frames(db, tuples, f"r ROWS {reach} PRECEDING")
