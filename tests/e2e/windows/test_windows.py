"""Window aggregates on Spark: when a live window closes, and what it keeps from run to run."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

from millstream.errors import RunError
from millstream.mill import Mill, connect

pytestmark = pytest.mark.spark

BEGIN = datetime(2024, 1, 1)
Rows = Counter[tuple[object, ...]]


STREAM = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SLACK 5 SECONDS
      SOURCE 'csv:in' OPTIONS (max_files_per_batch = 1);
"""


def answers(mill: Mill, name: str) -> Rows:
    return plain([tuple(r.values()) for r in mill.query(name).to_arrow().to_pylist()])


def plain(rows: list[tuple[object, ...]]) -> Rows:
    """Rows that can be compared: floats to nine digits, times without a zone."""

    def value(v: object) -> object:
        return round(v, 9) if isinstance(v, float) else v.replace(tzinfo=None) if isinstance(v, datetime) else v

    return Counter(tuple(value(v) for v in row) for row in rows)


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
            found = answers(mill, "q")  # also those of earlier runs
            mill.spark.conf.set("spark.sql.shuffle.partitions", 2)
    # 59 s less the slack closes five windows of ten seconds; none is answered twice or lost on the way.
    assert found == Counter({("a", 5): 5, ("b", 5): 5})
    with connect(tmp_path / "ck", base=tmp_path) as mill:
        other = select.replace("10 SECONDS", "20 SECONDS")
        with pytest.raises(RunError, match=r"the window was \[RANGE 10 seconds, .* and is now \[RANGE 20 seconds"):
            mill.execute(f"{STREAM} CREATE QUERY q AS {other};")
