"""Views: the last row of each key as DuckDB gives it, in any order, cut, and with restarts."""

from __future__ import annotations

import shutil
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import RunError
from millstream.store import view_store
from millstream.store.newest import Newest
from millstream.store.view_store import ViewColumns, ViewStore, reopened, schema_in

SCHEMA = pa.schema([("k", pa.string()), ("t", pa.timestamp("us", tz="UTC")), ("v", pa.int64())])
COLUMNS = ViewColumns(("k", "v"), ("k",), "t")
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(0, 20)), max_size=40)


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.table(list(map(list, zip(*rows, strict=True))) if rows else [[], [], []], schema=SCHEMA)


def last_rows(rows: list[tuple[Any, ...]]) -> dict[str | None, int]:
    known = table(rows).append_column("place", pa.array(range(len(rows)), pa.int64()))
    assert known.num_rows == len(rows)
    found = duckdb.sql("SELECT k, arg_max(v, (t, place)) FROM known GROUP BY k").fetchall()
    return dict(found)


def held(view: ViewStore) -> dict[str | None, int]:
    return {row["k"]: row["v"] for row in view.table().to_pylist()}


@given(rows=ROWS, cuts=st.lists(st.integers(0, 40), max_size=5), seed=st.randoms(use_true_random=False))
def test_a_view_is_the_last_row_of_each_key(tmp_path_factory, rows, cuts, seed) -> None:
    folder = tmp_path_factory.getbasetemp() / "view"
    shutil.rmtree(folder, ignore_errors=True)
    given_rows = [(k, t, v) for v, (k, t) in enumerate(rows)]
    seed.shuffle(given_rows)
    places = sorted({0, len(given_rows), *(min(cut, len(given_rows)) for cut in cuts)})
    view = ViewStore(SCHEMA, COLUMNS, 5, folder)
    seen: dict[str | None, int] = {}
    for number, (begin, end) in enumerate(pairwise(places)):
        view.add(table(given_rows[begin:end]), number)
        assert held(view) == last_rows(given_rows[:end])
        if seed.random() < 0.3:
            view = ViewStore(SCHEMA, COLUMNS, 5, folder)
            assert not view.add(table(given_rows[begin:end]), number) or not rows
            assert held(view) == last_rows(given_rows[:end])
    for changes in view.subscribe(timeout=0):
        seen |= {row["k"]: row["v"] for row in changes.to_pylist()}
    assert seen == last_rows(given_rows)


def test_changes_say_what_has_happened_and_go_on_from_a_position(tmp_path: Path) -> None:
    view = ViewStore(SCHEMA, COLUMNS, 100, tmp_path)
    view.add(table([("a", 1, 1), ("a", 2, 2), ("b", 1, 3)]), 0)
    live = view.subscribe(timeout=0)
    assert next(live).to_pylist() == [{"op": "insert", "k": "a", "v": 2}, {"op": "insert", "k": "b", "v": 3}]
    at = live.position
    view.add(table([("b", 0, 9), ("a", 3, 4), ("c", 1, 5)]), 1)
    wanted = [{"op": "update", "k": "a", "v": 4}, {"op": "insert", "k": "c", "v": 5}]
    assert next(live).to_pylist() == wanted
    again = ViewStore(SCHEMA, COLUMNS, 100, tmp_path)
    assert [t.to_pylist() for t in again.subscribe(at, timeout=0)] == [wanted]
    assert [t.num_rows for t in again.subscribe(live.position, timeout=0)] == []


def test_snapshots_let_go_of_changes_and_lose_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_store, "FEW", 10)
    view = ViewStore(SCHEMA, COLUMNS, 5, tmp_path)
    for number in range(100):
        view.add(table([(f"k{number % 7}", number, number)]), number)
    assert view.dropped > 70
    assert held(ViewStore(SCHEMA, COLUMNS, 5, tmp_path)) == held(view) == {f"k{n % 7}": n for n in range(93, 100)}
    assert len(list((tmp_path / "snapshots").iterdir())) == 1


def test_without_time_stamps_the_last_to_come_is_the_newest() -> None:
    newest = Newest(SCHEMA, ["k"], None)
    newest.put(table([("a", 9, 1), ("a", 1, 2)]))
    newest.put(table([("a", 0, 3), ("b", 0, 4)]))
    assert newest.table()["v"].to_pylist() == [3, 4]


def test_a_view_with_other_columns_is_refused(tmp_path: Path) -> None:
    ViewStore(SCHEMA, COLUMNS, 5, tmp_path / "view").add(table([("a", 1, 1)]), 0)
    other = pa.schema([SCHEMA.field(0), SCHEMA.field(1)])
    with pytest.raises(RunError, match="what it holds does not fit"):
        ViewStore(other, ViewColumns(("k",), ("k",), "t"), 5, tmp_path / "view")
    with pytest.raises(RunError, match="and the key v"):
        ViewStore(SCHEMA, ViewColumns(("k", "v"), ("v",), "t"), 5, tmp_path / "view")


def test_readers_in_threads_see_whole_batches(tmp_path: Path) -> None:
    view = ViewStore(SCHEMA, COLUMNS, 10_000, tmp_path)
    mixed: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            batch, rows = view.snapshot()
            if batch >= 0 and set(rows["v"].to_pylist()) != {batch}:
                mixed.append((batch, rows["v"].to_pylist()))

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(150):
        view.add(table([(key, number, number) for key in "abcdefgh"]), number)
    done.set()
    for thread in threads:
        thread.join(10)
    assert not mixed


def test_what_a_view_has_left_is_read_and_nothing_of_it_is_let_go_of(tmp_path: Path) -> None:
    assert schema_in(tmp_path / "view") is None
    view = ViewStore(SCHEMA, COLUMNS, 1000, tmp_path / "view")
    assert schema_in(tmp_path / "view") == SCHEMA
    for number in range(5):
        view.add(table([("a", number, number), ("b", number, number)]), number)
    left = reopened(SCHEMA, COLUMNS, tmp_path / "view")
    assert held(left) == {"a": 4, "b": 4}
    assert [t.num_rows for t in left.subscribe()] == [2]  # and it ends: nothing more comes
    again = ViewStore(SCHEMA, COLUMNS, 1000, tmp_path / "view")
    assert len([0 for _ in again.subscribe(view.begin(None, 0)[1].position._replace(batch=0), timeout=0)]) == 4
    again.add(table([("a", 9, 9)]), 5)
    assert held(again) == {"a": 9, "b": 4}
