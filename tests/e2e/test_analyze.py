"""EXPLAIN ANALYZE: the figures are those of the run, and nothing of the run stays."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.cli.main import main
from millstream.errors import RunError
from millstream.mill import Mill
from millstream.spark.process.leftovers import OWNER, copies, owner
from millstream.spark.run.task_seconds import TaskSeconds

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
SET_UP = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SOURCE 'parquet:s';
CREATE STREAM c (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SOURCE 'csv:c';
CREATE TABLE t (k STRING, name STRING) SOURCE 'parquet:t.parquet';
CREATE SINK out TO 'json:out';
"""
GROUPED = (
    "SELECT t.name, count(*) [RANGE 1 MINUTE, WA ts] AS n FROM s JOIN t ON s.k = t.k WHERE s.v > 3 GROUP BY t.name"
)


def feed(base: Path) -> None:
    """Three files of 200 tuples, one a second; 90 lines of CSV, one of them bad; a table."""
    for name in "sc":
        (base / name).mkdir()
    for file in range(3):
        numbers = range(200 * file, 200 * (file + 1))
        data = {
            "ts": pa.array([BEGIN + timedelta(seconds=n) for n in numbers], pa.timestamp("us", "UTC")),
            "k": [f"k{n % 7}" for n in numbers],
            "v": pa.array([n % 13 for n in numbers], pa.int32()),
        }
        pq.write_table(pa.table(data), base / "s" / f"{file}.parquet")
    lines = [f"2024-01-01T00:{n // 60:02d}:{n % 60:02d},k{n % 3},{n}" for n in range(89)]
    (base / "c" / "1.csv").write_text("\n".join(["ts,k,v", *lines, "bad,row,x", ""]))
    pq.write_table(pa.table({"k": ["k1", "k2", "k3"], "name": ["a", "b", "c"]}), base / "t.parquet")


def kept() -> set[Path]:
    """The folders of this process and its copies of states."""
    claims = {claim.parent: claim.read_text() for claim in copies().glob(f"*/{OWNER}")}
    own = {folder for folder, by in claims.items() if by == owner()}
    return {*Path(tempfile.gettempdir()).glob(f"millstream-{owner()}-*"), *own}


class Told:
    """The figures of the steps of a plan, by the first words of steps and the name of a figure."""

    def __init__(self, mill: Mill, statement: str) -> None:
        (answer,) = mill.execute(statement)
        assert answer.analysis is not None
        assert answer.text == answer.analysis.text
        self.text = str(answer.text)
        self.steps = answer.analysis.steps
        self.tasks = answer.analysis.counts.steps.tasks or TaskSeconds()
        self.seconds = answer.analysis.counts.busy_seconds

    def __call__(self, step: str, figure: str) -> float:
        return next(float(str(s[figure])) for s in self.steps if str(s["step"]).startswith(step) and figure in s)


@pytest.mark.spark
def test_the_figures_are_those_of_the_run(mill: Mill, tmp_path: Path) -> None:
    feed(tmp_path)
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    folders = kept()
    mill.execute(SET_UP)

    passed = [n for n in range(600) if n % 7 in (1, 2, 3) and n % 13 > 3]
    groups = {(n % 7, n // 60) for n in passed}
    told = Told(mill, f"EXPLAIN ANALYZE {GROUPED}")
    assert told("WindowAggregate", "rows") == told("Project", "rows") == len(groups)
    assert len(groups) <= told("WindowAggregate", "came") < len(passed)
    assert told("WindowAggregate", "bytes") > 0
    assert told("WindowAggregate", "seconds") > 0
    assert told("WindowAggregate", "buckets") == 2
    assert told("Project", "seconds_before") > 0
    assert [told("Project", name) for name in ("read", "files", "exchanged")] == [600, 3, len(passed)]
    # The work of the buckets is part of what their tasks took, and no task runs longer than the whole.
    assert told("WindowAggregate", "seconds") < told("Project", "task_seconds")
    assert told("Project", "seconds_before") < told("WindowAggregate", "task_seconds_before")
    assert 0 < told.tasks.beside + told.tasks.last + sum(told.tasks.before.values()) < 2 * told.seconds

    over = "SELECT k, sum(v) OVER (PARTITION BY k ROWS 3 PRECEDING) AS n FROM c WHERE v % 2 = 0"
    told = Told(mill, f"EXPLAIN ANALYZE INSERT INTO out {over}")
    assert told("Scan", "rows") == 89
    assert told("Filter", "rows") == told("Filter", "exchanged") == 45
    assert told("OverAggregate", "came") == told("OverAggregate", "rows") == told("Project", "rows") == 45
    assert told("OverAggregate", "state_bytes") > 0

    split = "FROM c INSERT INTO out SELECT k WHERE v > 80 INSERT INTO stdout SELECT v WHERE v = 1"
    told = Told(mill, f"EXPLAIN ANALYZE {split}")
    assert told("Scan", "rows") == 89
    assert told.steps[0]["sinks"] == {"out": 8, "stdout": 1}
    assert "-> 8 rows to out, 1 row to stdout, " in told.text
    assert told("Split", "task_seconds") > 0

    told = Told(mill, "EXPLAIN ANALYZE SELECT name, count(*) AS n FROM t GROUP BY name ORDER BY n LIMIT 2")
    assert [told(step, "rows") for step in ("Scan", "WindowAggregate", "Limit")] == [3, 3, 2]
    assert told("WindowAggregate", "task_seconds_before") > 0
    assert told("Limit", "task_seconds") > told("WindowAggregate", "seconds")

    # Each stage has the inputs that its own shuffle reads, also where two of them are side by side.
    per_minute = "SELECT k, max(v) [RANGE 1 MINUTE] AS n, window_end FROM"
    mill.execute(f"CREATE STREAM a AS {per_minute} s GROUP BY k; CREATE STREAM b AS {per_minute} c GROUP BY k")
    told = Told(mill, "EXPLAIN ANALYZE SELECT a.n, b.n AS m FROM a [RANGE 1 HOUR], b WHERE a.n = b.n")
    took = [float(str(s["task_seconds_before"])) for s in told.steps if "task_seconds_before" in s]
    assert len(took) == len(told.tasks.before) == 3
    assert all(seconds > 0 for seconds in took)

    # Where Spark plans anew while it runs, its plan does not say which tasks were for which steps.
    mill.spark.conf.set("spark.sql.adaptive.enabled", "true")
    try:
        told = Told(mill, "EXPLAIN ANALYZE SELECT DISTINCT name FROM t ORDER BY name")
    finally:
        mill.spark.conf.set("spark.sql.adaptive.enabled", "false")
    assert told("Distinct", "rows") == 3
    assert "seconds of tasks" not in told.text

    (tmp_path / "s" / "9.parquet").write_text("no such file")
    with pytest.raises(RunError, match=r"query analyzed failed: .*9\.parquet"):
        mill.execute(f"EXPLAIN ANALYZE {GROUPED}")
    (tmp_path / "s" / "9.parquet").unlink()

    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before
    assert kept() <= folders
    assert not mill.queries
    assert "0 queries" in mill.execute("SHOW QUERIES")[0].message


@pytest.mark.spark
def test_a_running_query_tells_what_it_has_done(live_mill: Mill, tmp_path: Path) -> None:
    feed(tmp_path)
    live_mill.execute(
        SET_UP + "CREATE QUERY q AS SELECT k, v, count(*) OVER (ROWS 2 PRECEDING) AS n FROM c WHERE v < 50"
    )
    query = live_mill.query("q")
    query.process_available()
    told = Told(live_mill, "EXPLAIN ANALYZE QUERY q")
    assert told("Filter", "exchanged") == told("OverAggregate", "came") == 50
    assert told("OverAggregate", "rows") == query.to_arrow().num_rows
    assert told("OverAggregate", "state_bytes") > 0
    assert "seconds of tasks" not in told.text  # only a run of its own tells
    (answer,) = live_mill.execute("EXPLAIN ANALYZE QUERY q")
    assert "of 90 rows, " in str(answer.text)
    assert "rejected: 1 of c" in str(answer.text)


@pytest.mark.spark
def test_the_command(spark: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    feed(tmp_path)
    script = tmp_path / "script.esl"
    script.write_text(f"{SET_UP} INSERT INTO out SELECT k FROM c WHERE v > 80; {GROUPED};")
    assert main(["explain", "--analyze", "--json", "--master", "local[2]", str(script)]) == 0
    plans = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [plan["query"] for plan in plans] == ["out", "statement 6"]
    assert plans[0]["steps"][0]["rows"] == 8
    assert any("exchanged" in line for line in plans[1]["plan"])
    assert not (tmp_path / "out").exists()
