"""User-defined aggregates on Spark, in every kind of window, against answers that were worked out by hand."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from millstream.errors import Refused
from millstream.mill import Mill, connect
from tests.e2e.windows.test_windows import Rows, answers
from tests.udas.paper import ALARM, AVERAGE, GROUPING, WINDOW_AVERAGE, WINDOW_MAX

pytestmark = pytest.mark.spark

BEGIN = datetime(2024, 1, 1)
STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SLACK 2 SECONDS SOURCE 'csv:in';"
TOTAL = """CREATE ALGEBRAIC AGGREGATE total (x BIGINT, n BIGINT) : (x BIGINT, n BIGINT) {
  TABLE state (s BIGINT, c BIGINT);
  INITIALIZE: { INSERT INTO state VALUES (x, n); }
  ITERATE: { UPDATE state SET s = s + x, c = c + n; }
  TERMINATE: { INSERT INTO RETURN SELECT s, c FROM state; }
}"""
RECORDS = """CREATE AGGREGATE records (x INT) : (best INT, nth INT) {
  TABLE state (best INT, n INT);
  INITIALIZE: { INSERT INTO state VALUES (x, 1); INSERT INTO RETURN VALUES (x, 1); }
  ITERATE: {
    INSERT INTO RETURN SELECT x, n + 1 FROM state WHERE x > best;
    UPDATE state SET best = x, n = n + 1 WHERE x > best;
  }
}"""
DEFINITIONS = ";".join([STREAM.rstrip(";"), AVERAGE, WINDOW_AVERAGE, WINDOW_MAX, TOTAL, RECORDS, GROUPING])
QUERIES = [
    """CREATE QUERY tumbling AS SELECT k, window_end, myavg(v) [RANGE 10 SECONDS, WA ts] AS m FROM s GROUP BY k;
       CREATE QUERY panes AS SELECT k, window_end, total(v, 1) [RANGE 10 SECONDS, SLIDE 5 SECONDS, WA ts]
         FROM s GROUP BY k;""",
    """CREATE QUERY sessions AS SELECT k, window_start, total(v, 1) FROM
         SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' SECOND) GROUP BY k, window_start, window_end;
       CREATE QUERY delta AS SELECT ts, winavg(v) OVER (PARTITION BY k ROWS 2 PRECEDING) AS m FROM s;""",
    """CREATE QUERY highest AS SELECT ts, mymax(v) OVER (RANGE 4 SECONDS PRECEDING SLIDE 4 SECONDS) AS m FROM s;
       CREATE QUERY anew AS SELECT ts, myavg(v) OVER (PARTITION BY k RANGE 4 SECONDS PRECEDING) AS m FROM s
         WHERE v > 1;""",
    """CREATE QUERY best AS SELECT k, records(v) FROM s GROUP BY k;
       CREATE QUERY packs AS SELECT k, packing(k, ts) FROM s GROUP BY k;""",
]
VALUES = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4]
"""One every second, in turn of a and b; between the 10th and the 11th there is a pause of a minute."""


def at(second: float) -> datetime:
    return BEGIN + timedelta(seconds=second)


def seconds() -> list[int]:
    return [i if i < 10 else i + 60 for i in range(len(VALUES))]


def feed(folder: Path) -> None:
    (folder / "in").mkdir()
    rows = [f"{at(s).isoformat()},{'ab'[i % 2]},{v}" for i, (s, v) in enumerate(zip(seconds(), VALUES, strict=True))]
    rows[3], rows[5] = rows[5], rows[3]  # within the slack
    (folder / "in" / "0.csv").write_text("ts,k,v\n" + "\n".join(rows) + "\n")


def of_key(key: str) -> list[tuple[int, int]]:
    return [(s, v) for i, (s, v) in enumerate(zip(seconds(), VALUES, strict=True)) if "ab"[i % 2] == key]


def rising(values: list[int]) -> list[int]:
    return [v for i, v in enumerate(values) if v > max(values[:i], default=v - 1)]


def rounded(rows: Rows) -> Rows:
    """REAL has seven digits."""
    return Counter(tuple(round(v, 3) if isinstance(v, float) else v for v in row) for row in rows.elements())


@pytest.mark.usefixtures("spark")
def test_every_window(tmp_path: Path) -> None:
    feed(tmp_path)
    with connect(base=tmp_path, once=True) as mill:
        mill.execute(DEFINITIONS)
        for query in QUERIES:  # not all at once: each has Python workers of its own
            mill.execute(query)
            mill.wait()
        names = ["tumbling", "panes", "sessions", "delta", "highest", "anew", "best", "packs"]
        found = {name: rounded(answers(mill, name)) for name in names}
    keyed = {key: of_key(key) for key in "ab"}

    def within(key: str, start: int, end: int) -> list[int]:
        return [v for s, v in keyed[key] if start <= s < end]

    ends = range(5, 90, 5)
    assert found["tumbling"] == Counter(
        (k, at(e), round(sum(vs) / len(vs), 3)) for k in "ab" for e in (10, 80) if (vs := within(k, e - 10, e))
    )
    assert found["panes"] == Counter(
        (k, at(e), sum(vs), len(vs)) for k in "ab" for e in ends if (vs := within(k, e - 10, e))
    )
    assert found["sessions"] == Counter(
        (k, at(min(s for s, _ in part)), sum(v for _, v in part), 5)
        for k in "ab"
        for part in (keyed[k][:5], keyed[k][5:])
    )
    assert found["delta"] == Counter(
        (at(keyed[k][i][0]), round(sum(vs) / len(vs), 3))
        for k in "ab"
        for i in range(10)
        if (vs := [v for _, v in keyed[k][max(i - 2, 0) : i + 1]])
    )
    times = dict(zip(seconds(), VALUES, strict=True))
    last = [max(s for s in times if s // 4 == slot) for slot in sorted({s // 4 for s in times})]
    assert found["highest"] == Counter((at(s), float(max(times.get(s - i, 0) for i in range(5)))) for s in last)
    assert found["anew"] == Counter(
        (at(s), round(sum(vs) / len(vs), 3))
        for k in "ab"
        for s, v in keyed[k]
        if v > 1 and (vs := [w for t, w in keyed[k] if s - 4 <= t <= s and w > 1])
    )
    assert found["best"] == Counter(
        [*(("a", v, n) for n, v in enumerate([3, 4, 5, 9], 1)), *(("b", v, n) for n, v in enumerate([1, 9], 1))]
    )
    assert found["packs"] == Counter({(k, k, n): 5 for k in "ab" for n in (1, 2)})


@pytest.mark.usefixtures("spark")
def test_bodies_read_tables_and_windows_emit(tmp_path: Path) -> None:
    feed(tmp_path)
    (tmp_path / "fees.csv").write_text("k,fee\na,2\nc,9\n")
    with connect(base=tmp_path, once=True) as mill:
        mill.execute(f"""{STREAM}
            CREATE TABLE fees (k STRING, fee INT) SOURCE 'csv:fees.csv';
            CREATE AGGREGATE net (key STRING, v INT) : INT {{
              TABLE state (total INT) AS VALUES (0);
              INITIALIZE: ITERATE: {{
                UPDATE state SET total = total + v - coalesce((SELECT fee FROM fees WHERE fees.k = key), 0);
              }}
              TERMINATE: {{ INSERT INTO RETURN SELECT total FROM state; }}
            }};
            {TOTAL};
            CREATE QUERY nets AS SELECT k, window_end, net(k, v) [RANGE 10 SECONDS, WA ts] AS net FROM s GROUP BY k;
            CREATE QUERY lately AS SELECT k, ts, net(k, v) OVER (PARTITION BY k ROWS 2 PRECEDING) AS net FROM s;
            CREATE QUERY early AS SELECT k, window_end, emitted, total(v, 1) [RANGE 1 MINUTE, WA ts]
              FROM s GROUP BY k EMIT EVERY 5 SECONDS;
            {RECORDS};
            CREATE QUERY bests AS SELECT k, window_end, records(v) [RANGE 10 SECONDS, WA ts] FROM s GROUP BY k;
        """)
        mill.wait()
        found = {name: answers(mill, name) for name in ("nets", "lately", "early", "bests")}
        stored = mill.execute(
            """
            CREATE TABLE t (ts TIMESTAMP, k STRING, v INT) SOURCE 'csv:in';
            SELECT k, net(k, v) AS net, count(*) AS n FROM t WHERE v > 1 GROUP BY k ORDER BY k DESC;
            SELECT net(k, v) AS net FROM t WHERE v > 100;
            CREATE AGGREGATE twice (x INT) : INT {{ INITIALIZE: ITERATE: {{ INSERT INTO RETURN VALUES (2 * x); }} }};
            SELECT twice(v) AS twice FROM t;
        """.replace("{{", "{").replace("}}", "}")
        )
    net = {"a": lambda vs: sum(vs) - 2 * len(vs), "b": sum}
    keyed = {key: of_key(key) for key in "ab"}
    *_, groups, nothing, _, doubled = (answer.table for answer in stored)
    large = {k: [v for _, v in keyed[k] if v > 1] for k in "ab"}
    assert groups is not None
    assert groups.to_pylist() == [{"k": k, "net": net[k](large[k]), "n": len(large[k])} for k in "ba"]
    assert nothing is not None
    assert nothing.num_rows == 0
    assert doubled is not None
    assert Counter(doubled["twice"].to_pylist()) == Counter(2 * v for v in VALUES), "an answer for every tuple"
    assert found["bests"] == Counter(
        (k, at(end), best, n + 1)
        for k in "ab"
        for end in (10, 80)
        for n, best in enumerate(rising([v for s, v in keyed[k] if end - 10 <= s < end]))
    )
    assert found["nets"] == Counter(
        (k, at(end), net[k]([v for s, v in keyed[k] if end - 10 <= s < end])) for k in "ab" for end in (10, 80)
    )
    assert found["lately"] == Counter(
        (k, at(keyed[k][i][0]), net[k]([v for _, v in keyed[k][max(i - 2, 0) : i + 1]]))
        for k in "ab"
        for i in range(10)
    )
    early = [(k, e, m, t, n) for k, e, m, t, n in found["early"].elements() if e == at(60)]
    whole = {k: [v for s, v in keyed[k] if s < 60] for k in "ab"}
    assert sorted(row for row in early if row[2] == "final") == [
        (k, at(60), "final", sum(whole[k]), len(whole[k])) for k in "ab"
    ]
    first_five = {k: [v for s, v in keyed[k] if s < 5] for k in "ab"}
    assert {("partial", sum(vs), len(vs)) for vs in first_five.values()} <= {row[2:] for row in early}


@pytest.mark.usefixtures("spark")
def test_the_alarm_of_the_paper(tmp_path: Path) -> None:
    """Items that pass without an authorized person are reported, when they leave the window."""
    (tmp_path / "in").mkdir()
    readings = [(0, 1, "item"), (3, 100, "ap"), (6, 2, "item"), (9, 3, "item"), (10, 4, "item"), (30, 5, "item")]
    readings += [(33, 101, "ap"), (60, 6, "item")]
    lines = [f"{at(s).isoformat()},{i},{t}" for s, i, t in readings]
    (tmp_path / "in" / "0.csv").write_text("tagtime,tagid,tagtype\n" + "\n".join(lines) + "\n")
    with connect(base=tmp_path, once=True) as mill:
        mill.execute(f"""
            CREATE STREAM tag_readings (tagtime TIMESTAMP, tagid INT, tagtype STRING) ORDER BY tagtime
              SOURCE 'csv:in';
            {ALARM};
            CREATE QUERY larceny AS SELECT tagid, tagtime, item_alarm(tagid, tagtype, tagtime) OVER
              (RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION) AS alarm FROM tag_readings;
        """)
        mill.wait()
        assert answers(mill, "larceny") == Counter(
            (i, at(s + 5) + timedelta(microseconds=1), "larceny alarm") for s, i in ((9, 3), (10, 4), (60, 6))
        )
        (told,) = mill.execute(
            "EXPLAIN SELECT item_alarm(tagid, tagtype, tagtime) OVER (RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION) "
            "FROM tag_readings"
        )
        assert "5 seconds PRECEDING ACTIVE EXPIRATION" in str(told)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("max(v) OVER (RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION)", "it returns nothing then"),
        ("myavg(v) OVER (RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION)", "it returns nothing then"),
        ("winavg(v) OVER (RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION)", "it returns nothing then"),
        ("leaving(v) OVER (ROWS 5 PRECEDING ACTIVE EXPIRATION)", "only when another comes"),
        ("leaving(v) OVER (RANGE UNBOUNDED PRECEDING ACTIVE EXPIRATION)", "no tuple ever leaves"),
        ("leaving(v) OVER (RANGE 5 SECONDS PRECEDING SLIDE 1 SECOND ACTIVE EXPIRATION)", "do not go together"),
        (
            "leaving(v) OVER (RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION), max(v) OVER (RANGE 5 SECONDS PRECEDING)",
            "moments of its own",
        ),
    ],
)
def test_where_active_expiration_has_no_meaning(mill: Mill, item: str, reason: str) -> None:
    leaving = """CREATE WINDOW AGGREGATE leaving (x INT) : INT {
        INITIALIZE: ITERATE: { } EXPIRE: { INSERT INTO RETURN VALUES (x); } }"""
    mill.execute(f"{DEFINITIONS}; {leaving}")
    with pytest.raises(Refused, match=reason):
        mill.execute(f"SELECT {item} FROM s")


def test_aggregates_are_shown(mill: Mill) -> None:
    mill.execute(DEFINITIONS)
    (shown,) = mill.execute("SHOW AGGREGATES")
    assert shown.table is not None
    rows = {row["aggregate"]: row for row in shown.table.to_pylist()}
    assert rows.keys() == {"myavg", "winavg", "mymax", "total", "records", "packing"}
    assert "algebraic" in rows["total"]["answers"]
    (told,) = mill.execute("EXPLAIN AGGREGATE winavg")
    assert "def iterate" in (told.text or "")
