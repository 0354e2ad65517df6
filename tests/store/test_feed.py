"""Feeds: each batch once, and no row is late that the query did not know to be late that put it there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from millstream.progress.promise_mark import MARK, promise_of
from millstream.store.feed import STATEMENT, Feed, Told


def rows(*times: int) -> pa.Table:
    return pa.table({"t": pa.array(times, pa.int64())}, schema=pa.schema([pa.field("t", pa.int64(), nullable=False)]))


def read(feed: Feed) -> list[int | str]:
    """Times of rows, and promises as texts, in the order in which they come."""
    found: list[int | str] = []
    for file in sorted(feed.folder.glob("*.parquet")):
        told = pq.read_table(file).to_pylist()
        found += [row["t"] if row[MARK] is None else f"{promise_of(row[MARK])}" for row in told]
    return found


def test_the_slowest_counts_and_who_is_gone_does_not(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "rows")
    assert feed.enlist("a") is None
    feed.enlist("b")
    feed.add(rows(1, 9), "a", 0, Told("x", 8))
    assert read(feed) == [1, 9]  # nothing is known of b
    feed.add(rows(2), "b", 0, Told("y", 2))
    assert read(feed) == [1, 9, 2, "2"]
    feed.add(rows(), "b", 1, Told("z", 5))
    feed.add(rows(), "b", 2, Told("z", 4))  # what was promised is not taken back
    feed.add(rows(20), STATEMENT, told=Told(promise=20))  # a statement has no say where queries feed
    assert read(feed)[4:] == ["5", 20]
    again = Feed(tmp_path / "rows")
    assert (again.enlist("a"), again.enlist("b"), again.promised) == ("x", "z", 5)
    again.dismiss("b")
    assert read(again)[6:] == ["8"]
    assert Feed(tmp_path / "rows").feeders == {"a"}
    again.dismiss("a")
    again.add(rows(30), STATEMENT, told=Told(promise=30))
    assert read(again)[7:] == [30, "30"]


def test_a_batch_that_comes_again_counts_once(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "rows")
    feed.enlist("a")
    assert feed.add(rows(1), "a", 0, Told("x", 1))
    assert not feed.add(rows(1), "a", 0, Told("x", 1))
    (tmp_path / "feeders" / "a.json").unlink()  # killed before it was noted what the query had told
    again = Feed(tmp_path / "rows")
    assert again.enlist("a") is None
    assert not again.add(rows(1), "a", 0, Told("x", 1))
    assert again.enlist("a") == "x"
    assert read(again) == [1, "1", "1"]
    again.enlist("a", anew=True)
    assert read(again) == []


STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.lists(st.integers(0, 50), max_size=3), st.integers(0, 20), st.booleans()),
    max_size=30,
)


@given(steps=STEPS, slack=st.integers(0, 5))
def test_no_row_is_late_that_was_not_late_where_it_comes_from(tmp_path_factory, steps, slack) -> None:
    folder = tmp_path_factory.getbasetemp() / "feed"
    shutil.rmtree(folder, ignore_errors=True)
    feed = Feed(folder / "rows")
    newest: dict[str, int] = {}
    numbers: dict[str, int] = dict.fromkeys("abc", 0)
    late = set()
    for writer in "abc":
        feed.enlist(writer)
    for writer, times, offset, restarts in steps:
        known = newest.get(writer)
        late |= {t + offset for t in times if known is not None and t + offset < known - slack}
        mine = [*times, *([] if known is None else [known - offset])]
        if mine:
            newest[writer] = max(t + offset for t in mine)
        promise = newest[writer] - slack if writer in newest else None
        feed.add(rows(*(t + offset for t in times)), writer, numbers[writer], Told(None, promise))
        numbers[writer] += 1
        if restarts:
            feed = Feed(folder / "rows")
    promised = None
    for one in read(feed):
        if isinstance(one, str):
            promised = int(one)
        elif promised is not None and one < promised:
            assert one in late
