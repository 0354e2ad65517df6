"""What makes windows close on Spark: punctuation in the data, time that passes beside a WHERE, and the wall clock."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

import pytest

from millstream.mill import Mill, RunningQuery, connect

pytestmark = pytest.mark.spark

HEAD = "ts,k,v,done\n"


class Feed:
    """A followed folder: rows arrive, and the query is given time to answer."""

    def __init__(self, folder: Path, query: RunningQuery) -> None:
        self._folder, self._query, self._files = folder, query, 0

    def __call__(self, *rows: str) -> Counter[tuple[object, ...]]:
        """All answers so far."""
        hidden = self._folder / f".{self._files}"
        hidden.write_text(HEAD + "".join(f"2024-01-01T00:{row}\n" for row in rows))
        hidden.rename(self._folder / f"{self._files}.csv")
        self._files += 1
        self._query.process_available()
        return self.answers()

    def answers(self) -> Counter[tuple[object, ...]]:
        return Counter(tuple(row.values()) for row in self._query.to_arrow().to_pylist())


def follow(mill: Mill, folder: Path, clauses: str, select: str) -> Feed:
    (folder / "in").mkdir()
    mill.execute(
        f"""CREATE STREAM s (ts TIMESTAMP, k STRING, v INT, done BOOLEAN) ORDER BY ts {clauses} SOURCE 'csv:in';
            CREATE QUERY q AS {select};"""
    )
    return Feed(folder / "in", mill.query("q"))


def test_punctuation_in_the_data_closes_windows(live_mill: Mill, tmp_path: Path) -> None:
    arrive = follow(
        live_mill,
        tmp_path,
        "PUNCTUATED BY (done)",
        "SELECT k, sum(v) [RANGE 10 SECONDS, WA ts] AS total FROM s WHERE v > 0 GROUP BY k",
    )
    # Without a slack only punctuation speaks: nothing is late, whatever the order.
    assert not arrive("00:25,a,1,", "00:03,a,2,", "00:04,b,3,")
    assert not arrive("00:05,a,4,")
    assert arrive("00:10,,,true", "00:11,c,7,") == Counter([("a", 6), ("b", 3)])
    # For the group of its columns that are not NULL: b is done up to 00:30, the others are not.
    assert arrive("00:14,b,5,", "00:15,a,8,", "00:30,b,,true") == Counter([("a", 6), ("b", 3), ("b", 5)])
    assert arrive("00:12,b,100,", "00:20,,,true") == Counter([("a", 6), ("b", 3), ("b", 5), ("a", 8), ("c", 7)])
    # A punctuation for a column that is no key cannot be used.
    assert arrive("00:59,,3,true") == arrive.answers()
    live_mill.query("q").stop()
    assert live_mill.query("q").counts.late == {"s": 1}


def test_time_passes_though_no_tuple_does(live_mill: Mill, tmp_path: Path) -> None:
    arrive = follow(
        live_mill,
        tmp_path,
        "SLACK 1 SECOND",
        "SELECT count(*) [RANGE 10 SECONDS, WA at] AS n FROM (SELECT ts AS at, v FROM s WHERE k = 'a') WHERE v > 0",
    )
    assert not arrive("00:01,a,1,", "00:02,a,0,", "00:03,b,1,")
    assert not arrive("00:10,b,1,")
    assert arrive("00:11,b,1,") == Counter([(1,)])


def test_an_aggregate_over_an_aggregate_answers_in_the_same_batch(live_mill: Mill, tmp_path: Path) -> None:
    arrive = follow(
        live_mill,
        tmp_path,
        "SLACK 0 SECONDS",
        """SELECT max(n) [RANGE 20 SECONDS, WA window_end] AS busiest, count(*) AS answers
           FROM (SELECT k, window_end, count(*) [RANGE 10 SECONDS, WA ts] AS n FROM s GROUP BY k)""",
    )
    assert not arrive("00:01,a,1,", "00:02,a,1,", "00:03,b,1,")
    assert not arrive("00:12,a,1,", "00:19,c,1,")
    assert arrive("00:20,a,1,") == Counter([(2, 4)])


def test_partial_answers_come_before_the_final_one(tmp_path: Path, spark: object) -> None:
    (tmp_path / "in").mkdir()
    rows = ["00:01,a,1,", "00:04,a,2,", "00:07,b,3,", "00:12,a,4,"]
    (tmp_path / "in" / "0.csv").write_text(HEAD + "".join(f"2024-01-01T00:{row}\n" for row in rows))
    (tmp_path / "in" / "1.csv").write_text(f"{HEAD}2024-01-01T00:00:13,b,5,\n")
    os.utime(tmp_path / "in" / "0.csv", (1e9, 1e9))  # Spark takes the older file first
    with connect(base=tmp_path, once=True) as mill:
        mill.execute(
            """CREATE STREAM s (ts TIMESTAMP, k STRING, v INT, done BOOLEAN) ORDER BY ts SOURCE 'csv:in'
                 OPTIONS (max_files_per_batch = 1);
               CREATE QUERY event AS SELECT k, sum(v) [RANGE 10 SECONDS, WA ts] AS total, emitted, window_end FROM s
                 GROUP BY k EMIT EVERY 3 SECONDS;
               CREATE QUERY change AS SELECT k, count(*) [RANGE 10 SECONDS, WA ts] AS n, emitted FROM s GROUP BY k
                 EMIT ON CHANGE;"""
        )
        mill.wait()
        found = Counter(tuple(r.values())[:3] for r in mill.query("event").to_arrow().to_pylist())
        assert found == Counter(
            [
                *[("a", 1, "partial"), ("a", 3, "partial"), ("a", 3, "partial"), ("b", 3, "partial")],
                *[("a", 3, "final"), ("b", 3, "final"), ("a", 4, "final"), ("b", 5, "final")],
            ]
        )
        found = Counter(tuple(r.values()) for r in mill.query("change").to_arrow().to_pylist())
        # What changes with the last batch is final at once.
        expected = [("a", 2, "final"), ("b", 1, "final"), ("a", 1, "partial"), ("a", 1, "final"), ("b", 1, "final")]
        assert found == Counter(expected)


def test_the_wall_clock_asks_for_partial_answers(live_mill: Mill, tmp_path: Path) -> None:
    arrive = follow(
        live_mill,
        tmp_path,
        "SLACK 0 SECONDS",
        """SELECT k, count(*) [RANGE 1 HOUR, WA ts] AS n, emitted FROM s GROUP BY k
           EMIT EVERY 1 SECOND WALL""",
    )
    arrive("00:01,a,1,", "00:02,a,1,")
    deadline = time.monotonic() + 30
    while not arrive.answers() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert arrive.answers() == Counter([("a", 2, "partial")])
    # Nothing new: the clock goes on, and no batch runs.
    time.sleep(2.5)
    batches = live_mill.query("q").counts.batches
    time.sleep(2.5)
    assert live_mill.query("q").counts.batches == batches
    assert arrive.answers() == Counter([("a", 2, "partial")])


def test_a_stream_without_time_stamps_has_windows_of_rows_and_of_arrival(live_mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    live_mill.execute(
        """CREATE STREAM s (k STRING, v INT) SOURCE 'csv:in';
           CREATE QUERY q AS SELECT k, sum(v) OVER (PARTITION BY k ROWS 1 PRECEDING) AS two FROM s;"""
    )
    query = live_mill.query("q")
    for number, rows in enumerate((["a,1", "a,2", "b,5"], ["a,4"])):
        (tmp_path / "in" / f".{number}").write_text("k,v\n" + "\n".join(rows) + "\n")
        (tmp_path / "in" / f".{number}").rename(tmp_path / "in" / f"{number}.csv")
        query.process_available()
    assert Counter(tuple(r.values()) for r in query.to_arrow().to_pylist()) == Counter(
        [("a", 1), ("a", 3), ("b", 5), ("a", 6)]
    )
