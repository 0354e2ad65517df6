"""Punctuation for groups on Spark, where two streams meet: in a union under a window, and in a join."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from millstream.mill import Mill

pytestmark = pytest.mark.spark

STREAMS = """
    CREATE STREAM a (ts TIMESTAMP, k INT, v INT, done BOOLEAN) ORDER BY ts PUNCTUATED BY (done) SOURCE 'csv:a';
    CREATE STREAM b (at TIMESTAMP, key {type}, w INT, done BOOLEAN) ORDER BY at PUNCTUATED BY (done) SOURCE 'csv:b';
"""


class Both:
    """Two followed folders: rows of both arrive, and the query is given time to answer."""

    def __init__(self, mill: Mill, base: Path, type_: str, select: str) -> None:
        self._base, self._files = base, 0
        for name in "ab":
            (base / name).mkdir()
        mill.execute(f"{STREAMS.format(type=type_)} CREATE QUERY q AS {select};")
        self._query = mill.query("q")
        self._seen: Counter[tuple[object, ...]] = Counter()

    def __call__(self, a: list[str], b: list[str]) -> Counter[tuple[object, ...]]:
        """The answers to these rows."""
        for name, head, rows in (("a", "ts,k,v,done", a), ("b", "at,key,w,done", b)):
            hidden = self._base / name / f".{self._files}"
            hidden.write_text(f"{head}\n" + "".join(f"2024-01-01T00:00:{row}\n" for row in rows))
            hidden.rename(self._base / name / f"{self._files}.csv")
        self._files += 1
        self._query.process_available()
        before, self._seen = self._seen, Counter(tuple(r.values()) for r in self._query.to_arrow().to_pylist())
        return self._seen - before


def test_a_union_closes_a_group_when_both_have_promised_it(live_mill: Mill, tmp_path: Path) -> None:
    arrive = Both(
        live_mill,
        tmp_path,
        "INT",
        """SELECT k, sum(v) [RANGE 10 SECONDS, WA ts] AS total
           FROM (SELECT ts, k, v FROM a UNION ALL SELECT at, key, w FROM b WHERE w > 0) AS u GROUP BY k""",
    )
    assert not arrive(["03,1,5,", "04,2,7,", "10,1,,true"], ["05,1,20,"])
    # The second stream has promised less to this group; the other group is promised nothing.
    assert not arrive(["15,1,6,"], ["07,1,,true", "08,1,30,"])
    assert arrive([], ["10,1,,true"]) == Counter([(1, 55)])
    assert not arrive(["30,,,true"], ["09,2,40,", "09,1,100,"])  # late for 1
    # Of the whole stream up to 30 from the one, of the group up to 20 from the other.
    assert arrive([], ["20,1,,true"]) == Counter([(1, 6)])
    assert arrive([], ["20,,,true"]) == Counter([(2, 47)])
    live_mill.query("q").stop()
    assert sum(live_mill.query("q").counts.late.values()) == 1


def test_a_join_answers_what_has_no_match_once_its_key_is_promised(live_mill: Mill, tmp_path: Path) -> None:
    arrive = Both(
        live_mill,
        tmp_path,
        "BIGINT",
        """SELECT k, v, w FROM a [RANGE 5 SECONDS, WA ts] LEFT JOIN b [RANGE 5 SECONDS, WA at] ON a.k = b.key""",
    )
    assert arrive(["10,1,1,", "12,1,2,", "10,2,3,"], ["06,1,60,"]) == Counter([(1, 1, 60)])
    # 1 is promised up to 18: the tuple of 12 waits for none any more. That of 2 does.
    assert arrive([], ["18,1,,true"]) == Counter([(1, 2, None)])
    assert arrive(["12,1,4,"], ["13,1,70,"]) == Counter([(1, 4, None)])  # the one that breaks the promise is late
    assert arrive([], ["15,2,80,"]) == Counter([(2, 3, 80)])
    assert not arrive([], ["40,,,true"])
    live_mill.query("q").stop()
    assert live_mill.query("q").counts.late == {"a": 0, "b": 1}


def test_punctuation_with_a_computed_time_stamp_speaks_for_the_whole_stream(live_mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("ms,k,done\n1000,1,false\n2500,2,false\n60000,,true\n")
    live_mill.execute("""
        CREATE STREAM s (ms BIGINT, k INT, done BOOLEAN, ts TIMESTAMP AS (timestamp_millis(ms)))
          ORDER BY ts PUNCTUATED BY (done) SOURCE 'csv:in';
        CREATE QUERY q AS SELECT k, count(*) [RANGE 10 SECONDS, WA ts] AS n FROM s GROUP BY k;
    """)
    query = live_mill.query("q")
    query.process_available()
    assert sorted(query.to_arrow().to_pydict()["k"]) == [1, 2]
