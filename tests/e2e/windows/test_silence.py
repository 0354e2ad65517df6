"""Inputs that fall silent, on Spark: they hold nobody back for longer than they may, and nothing runs for nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millstream.mill import Mill, RunningQuery, connect

pytestmark = pytest.mark.spark

STREAMS = """
    CREATE STREAM a (ts TIMESTAMP, v INT) ORDER BY ts SLACK 100 MILLISECONDS {idle} SOURCE 'csv:a';
    CREATE STREAM b (ts TIMESTAMP, v INT) ORDER BY ts SLACK 100 MILLISECONDS {idle} SOURCE 'csv:b';
"""
UNION = """
    CREATE QUERY q AS SELECT window_end, count(*) [RANGE 1 SECOND, WA ts] AS n
    FROM (SELECT ts, v FROM a UNION ALL SELECT ts, v FROM b) AS u;
"""


def put(folder: Path, name: str, *stamps: datetime) -> None:
    """A file of tuples, there at once."""
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{name}"
    hidden.write_text("ts,v\n" + "".join(f"{s.replace(tzinfo=None).isoformat()},1\n" for s in stamps))
    hidden.rename(folder / f"{name}.csv")


def now() -> datetime:
    return datetime.now(UTC)


def until(condition: Callable[[], bool], seconds: float) -> float:
    """How long it took, which must not be longer than that."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, "it did not come"
        time.sleep(0.02)
    return time.monotonic() - begun


def warm(mill: Mill, tmp_path: Path) -> RunningQuery:
    """The query after its first answer: Spark has started its workers."""
    query = mill.query("q")
    old = datetime(2024, 1, 1, tzinfo=UTC)
    for name in ("a", "b"):
        put(tmp_path / name, "warm", old, old + timedelta(seconds=10))
    until(lambda: query.to_arrow().num_rows >= 1, 60)
    return query


def test_one_silent_input_holds_the_other_back_no_longer_than_it_may(live_mill: Mill, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    live_mill.execute(STREAMS.format(idle="IDLE AFTER 2 SECONDS") + UNION)
    query = warm(live_mill, tmp_path)
    stamp = now()
    put(tmp_path / "a", "one", stamp)
    end = stamp.replace(microsecond=0) + timedelta(seconds=1)

    def answered() -> bool:
        return end in query.to_arrow()["window_end"].to_pylist()

    # b was last heard of before this, so it is silent two seconds later at the most; the slack is covered by then.
    # A batch more or two where the machine is busy.
    until(answered, 20)
    assert (now() - max(end, stamp + timedelta(seconds=2.1))).total_seconds() < 4
    assert query.counts.late == {"a": 0, "b": 0}


def test_all_inputs_silent_windows_close_and_then_nothing_runs(live_mill: Mill, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    live_mill.execute(STREAMS.format(idle="IDLE AFTER 1 SECOND") + UNION)
    query = warm(live_mill, tmp_path)
    until(lambda: query.to_arrow().num_rows == 2, 10)  # also the window of the last tuple
    until(lambda: all(w is None for w in query.counts.waits.values()), 10)
    time.sleep(4)  # a batch is counted a moment after its rows are there, on a busy machine a long one
    batches = query.counts.batches
    time.sleep(6)
    assert query.counts.batches == batches


def test_without_idle_after_a_silent_input_holds_the_other_back(live_mill: Mill, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    live_mill.execute(STREAMS.format(idle="") + UNION)
    query = warm(live_mill, tmp_path)
    put(tmp_path / "a", "one", now())
    until(lambda: query.counts.rows_in >= 5, 20)
    time.sleep(2)
    assert query.to_arrow().num_rows == 1


def test_a_stream_stamped_on_arrival_needs_no_more_tuples(live_mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    live_mill.execute("""
        CREATE STREAM c (v INT, current_time TIMESTAMP) ORDER BY current_time SOURCE 'csv:c';
        CREATE QUERY q AS SELECT window_end, sum(v) [RANGE 1 SECOND, WA current_time] AS n FROM c;
    """)
    query = live_mill.query("q")
    (tmp_path / "c" / "0.csv").write_text("v\n4\n5\n")
    until(lambda: query.to_arrow().num_rows >= 1, 60)
    assert query.to_arrow()["n"].to_pylist() == [9]


def test_an_unmatched_tuple_of_a_join_is_answered_in_silence(live_mill: Mill, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    live_mill.execute(
        STREAMS.format(idle="IDLE AFTER 1 SECOND")
        + "CREATE QUERY q AS SELECT a.v, b.v AS w FROM a [RANGE 1 SECOND] "
        + "LEFT JOIN b [RANGE 1 SECOND] ON a.v = b.v + 1;"
    )
    query = live_mill.query("q")
    put(tmp_path / "a", "one", now())
    until(lambda: query.to_arrow().num_rows >= 1, 60)
    assert query.to_arrow().to_pylist() == [{"v": 1, "w": None}]


@pytest.mark.usefixtures("spark")
def test_what_is_held_back_over_a_restart_is_answered_in_silence(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    script = (
        STREAMS.splitlines()[1].format(idle="IDLE AFTER 1 SECOND")
        + "CREATE SINK out TO 'csv:out.csv' OPTIONS (header = 'false');"
        + "INSERT INTO out SELECT count(*) [RANGE 1 HOUR, WA ts] AS n FROM a;"
    )
    put(tmp_path / "a", "one", now() - timedelta(hours=2), now() - timedelta(hours=2))
    for heartbeats in ("none", "on demand"):
        with connect(tmp_path / "state", base=tmp_path) as mill:
            mill.execute(f"SET heartbeats = '{heartbeats}'; {script}")
            query = mill.query("out")
            if heartbeats == "none":
                until(lambda query=query: query.counts.rows_in == 2, 60)  # type: ignore[misc]
                time.sleep(1)
                assert not (tmp_path / "out.csv").read_text()
            else:
                until(lambda: (tmp_path / "out.csv").read_text() == "2\n", 30)


def test_explain_why_not_names_who_holds_a_query_back(live_mill: Mill, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    live_mill.execute(STREAMS.format(idle="") + UNION)
    assert _why(live_mill) == "q has read nothing yet"
    query = warm(live_mill, tmp_path)
    begin = datetime(2024, 1, 1, 0, 0, 30, tzinfo=UTC)
    put(tmp_path / "a", "more", begin)
    until(lambda: query.counts.rows_in >= 5, 20)
    first, *others = _why(live_mill).splitlines()
    assert first.startswith("q waits for 2024-01-01T00:00:11, for ")
    assert "WindowAggregate COUNT(*)" in first
    assert others[0] == "  a does not: it has come to 2024-01-01T00:00:29.900000"
    assert others[1].startswith("  b holds it back: it has come to 2024-01-01T00:00:09.900000, and was last heard ")
    assert others[2] == (
        "    what would release it: a tuple of 2024-01-01T00:00:11.100000 or later, by its slack; "
        "IDLE AFTER, which it has not, would let it be passed over"
    )
    put(tmp_path / "b", "more", begin)
    until(lambda: query.to_arrow().num_rows >= 2, 20)
    until(lambda: _why(live_mill).startswith("q waits for 2024-01-01T00:00:31"), 10)


def _why(mill: Mill) -> str:
    return mill.execute("EXPLAIN WHY NOT q")[0].text or ""
