"""Window aggregates on Spark: the rows that DuckDB gives, for any cut and any disorder within the slack."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from millstream.errors import RunError
from millstream.mill import Mill, connect

pytestmark = pytest.mark.spark

BEGIN = datetime(2024, 1, 1)
Rows = Counter[tuple[object, ...]]


def feed(folder: Path, files: int, seed: int = 5) -> Path:
    """Rows out of order by up to 4 s, in several files of rising age, and once more in one file for DuckDB."""
    chance = random.Random(seed)
    rows = []
    for i in range(600):
        stamp = BEGIN + timedelta(milliseconds=i * 150)
        value = "" if chance.random() < 0.1 else str(chance.randint(-50, 50))
        rows.append((i * 150 + chance.randint(0, 4000), f"{stamp.isoformat()},{chance.choice('abcde')},{value}"))
    lines = [line for _, line in sorted(rows)]
    (folder / "in").mkdir(parents=True)
    for number in range(files):
        part = lines[number * len(lines) // files : (number + 1) * len(lines) // files]
        file = folder / "in" / f"{number}.csv"
        file.write_text("ts,k,v\n" + "\n".join(part) + "\n")
        os.utime(file, (1e9 + number, 1e9 + number))  # Spark takes files by age
    (folder / "all.csv").write_text("ts,k,v\n" + "\n".join(lines) + "\n")
    return folder / "all.csv"


STREAM = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SLACK 5 SECONDS
      SOURCE 'csv:in' OPTIONS (max_files_per_batch = 1);
"""


def oracle(file: Path, range_: int, slide: int, select: str, having: str = "true") -> Rows:
    with duckdb.connect() as db:
        columns = "{'ts': 'TIMESTAMP', 'k': 'VARCHAR', 'v': 'INTEGER'}"
        db.execute(f"CREATE VIEW s AS SELECT * FROM read_csv('{file}', header=true, columns={columns})")
        starts = f"range(TIMESTAMP '2023-12-31 23:50:00', TIMESTAMP '2024-01-01 00:05:00', INTERVAL {slide} SECOND)"
        found = db.execute(
            f"SELECT {select} FROM s, (SELECT unnest({starts}) AS w) AS windows "
            f"WHERE ts >= w AND ts < w + INTERVAL {range_} SECOND GROUP BY k, w HAVING {having}"
        ).fetchall()
    return plain(found)


def answers(mill: Mill, name: str) -> Rows:
    return plain([tuple(r.values()) for r in mill.query(name).to_arrow().to_pylist()])


def plain(rows: list[tuple[object, ...]]) -> Rows:
    """Rows that can be compared: floats to nine digits, times without a zone."""

    def value(v: object) -> object:
        return round(v, 9) if isinstance(v, float) else v.replace(tzinfo=None) if isinstance(v, datetime) else v

    return Counter(tuple(value(v) for v in row) for row in rows)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("files", [1, 4])
def test_windows_equal_duckdb(tmp_path: Path, files: int) -> None:
    file = feed(tmp_path, files)
    with connect(base=tmp_path, once=True) as mill:
        mill.execute(f"""{STREAM}
            CREATE STREAM dear AS SELECT ts AS at, k, v * 2 AS v FROM s WHERE v IS NULL OR v > -40;
            CREATE QUERY sliding AS SELECT k, window_start, window_end,
              count(*) [RANGE 10 SECONDS, SLIDE 3 SECONDS, WA ts] AS n, count(v) AS m,
              sum(v) AS total, min(v) AS low, max(v) AS high, avg(v) AS mean FROM s GROUP BY k;
            CREATE QUERY hop AS SELECT upper(k) AS k, window_start AS w, max(v) - min(v) AS spread,
              sum(v) FILTER (WHERE v > 0) AS up FROM HOP(TABLE dear, DESCRIPTOR(at), INTERVAL '5' SECOND,
              INTERVAL '20' SECOND) GROUP BY upper(k), window_start, window_end HAVING count(*) > 10;
        """)
        mill.wait()
        expected = oracle(
            file, 10, 3, "k, w, w + INTERVAL 10 SECOND, count(*), count(v), sum(v), min(v), max(v), avg(v)"
        )
        assert answers(mill, "sliding") == expected
        assert mill.query("sliding").counts.late == {"s": 0}
        dear = "v IS NULL OR v > -40"
        expected = oracle(
            file,
            20,
            5,
            f"upper(k), w, max(v * 2) FILTER ({dear}) - min(v * 2) FILTER ({dear}), sum(v * 2) FILTER (v > 0)",
            f"count(*) FILTER ({dear}) > 10",
        )
        assert answers(mill, "hop") == expected


def test_a_live_window_closes_when_its_time_has_passed(live_mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    live_mill.execute(
        f"{STREAM} CREATE QUERY q AS SELECT k, sum(v) [RANGE 10 SECONDS, WA ts] AS total FROM s GROUP BY k;"
    )
    query = live_mill.query("q")

    def arrive(name: str, *rows: str) -> list[dict[str, object]]:
        hidden = tmp_path / "in" / f".{name}"
        hidden.write_text("ts,k,v\n" + "\n".join(rows) + "\n")
        hidden.rename(tmp_path / "in" / f"{name}.csv")
        query.process_available()
        return list(query.to_arrow().to_pylist())

    assert arrive("1", "2024-01-01T00:00:03,a,1", "2024-01-01T00:00:14,a,5") == []
    assert arrive("2", "2024-01-01T00:00:09,a,2") == []
    # 15 s less the slack of 5 s reaches the end of the first window, and the answer comes with the same batch.
    assert arrive("3", "2024-01-01T00:00:15,b,7") == [{"k": "a", "total": 3}]
    assert arrive("4", "2024-01-01T00:00:05,a,100") == [{"k": "a", "total": 3}]
    query.stop()
    assert query.counts.late == {"s": 1}


@pytest.mark.usefixtures("spark")
def test_late_tuples_are_a_stream_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    files = (
        ["2024-01-01T00:00:03,a,1", "2024-01-01T00:01:00,a,2"],
        ["2024-01-01T00:00:54,a,3", "2024-01-01T00:00:56,b,4", ",c,5", "2024-01-01T00:00:01,b,"],
    )
    for number, rows in enumerate(files):
        file = tmp_path / "in" / f"{number}.csv"
        file.write_text("ts,k,v\n" + "\n".join(rows) + "\n")
        os.utime(file, (1e9 + number, 1e9 + number))
    with connect(base=tmp_path, once=True) as mill:
        mill.execute(f"{STREAM} CREATE QUERY late AS SELECT k, v + 1 AS next, ts FROM s.LATE;")
        mill.execute("CREATE QUERY n AS SELECT count(*) [RANGE 1 HOUR, WA ts] AS n FROM s; DESCRIBE s.LATE;")
        mill.wait()
        # The low-watermark is a minute less the slack of 5 s when the second file comes.
        assert answers(mill, "late") == Counter(
            [("a", 4, datetime(2024, 1, 1, 0, 0, 54)), ("b", None, datetime(2024, 1, 1, 0, 0, 1))]
        )
        assert mill.query("late").counts.late == {"s": 2}
        # A window that is still open takes late tuples all the same.
        assert answers(mill, "n") == Counter([(5,)])


@pytest.mark.usefixtures("spark")
def test_a_window_keeps_its_state_and_its_buckets_across_runs(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    select = "SELECT k, count(*) [RANGE 10 SECONDS, WA ts] AS n FROM s GROUP BY k"
    found: Rows = Counter()
    for number, partitions in enumerate([2, 3, 1]):
        file = tmp_path / "in" / f"{number}.csv"
        seconds = [number * 20 + i for i in range(20)]
        file.write_text("ts,k,v\n" + "".join(f"2024-01-01T00:00:{s:02d},{'ab'[s % 2]},1\n" for s in seconds))
        with connect(tmp_path / "ck", base=tmp_path) as mill:
            mill.spark.conf.set("spark.sql.shuffle.partitions", partitions)
            mill.execute(f"{STREAM} CREATE QUERY q AS {select};")
            mill.query("q").process_available()
            found += answers(mill, "q")
            mill.spark.conf.set("spark.sql.shuffle.partitions", 2)
    # 59 s less the slack closes five windows of ten seconds; none is answered twice or lost on the way.
    assert found == Counter({("a", 5): 5, ("b", 5): 5})
    with connect(tmp_path / "ck", base=tmp_path) as mill:
        other = select.replace("10 SECONDS", "20 SECONDS")
        with pytest.raises(RunError, match=r"the window was \[RANGE 10 seconds, .* and is now \[RANGE 20 seconds"):
            mill.execute(f"{STREAM} CREATE QUERY q AS {other};")


def test_frames_of_rows_and_of_time_on_a_stream_without_time_stamps(run: Callable[[str], Mill], tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    values = [5, 1, 4, 1, 3]
    (tmp_path / "in" / "0.csv").write_text("v\n" + "".join(f"{v}\n" for v in values))
    mill = run("""
        CREATE STREAM u (v INT) SOURCE 'csv:in';
        CREATE QUERY q AS SELECT v, count(*) OVER (RANGE 1 HOUR PRECEDING) AS n, sum(v) OVER (ROWS 1 PRECEDING) AS two,
          max(v) OVER (RANGE UNBOUNDED PRECEDING) AS high FROM u;
    """)
    pairs = zip([0, *values], values, strict=False)
    assert answers(mill, "q") == Counter((v, len(values), before + v, max(values)) for before, v in pairs)
