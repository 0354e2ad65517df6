"""Aggregates in Python on Spark: every kind of window, classes that travel by value, and failures that stay alone."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import millstream
from millstream.errors import RunError
from millstream.mill import Mill, connect
from tests.e2e.windows.test_windows import STREAM, answers, feed
from tests.udas import classes

pytestmark = pytest.mark.spark

PLACE = classes.__name__
CREATE = f"""
    CREATE AGGREGATE spread (x BIGINT) : BIGINT LANGUAGE PYTHON '{PLACE}:Spread';
    CREATE AGGREGATE middle (x BIGINT) : DOUBLE LANGUAGE PYTHON '{PLACE}:BatchMean';
"""

KINDS = {
    "sliding": "SELECT k, window_end, {} [RANGE 20 SECONDS, SLIDE 5 SECONDS, WA ts] AS a, {} AS b FROM s GROUP BY k",
    "session": """SELECT k, window_end, {} AS a, {} AS b
                  FROM SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' SECOND)
                  GROUP BY k, window_start, window_end""",
    "over": """SELECT k, ts, {} OVER (PARTITION BY k ORDER BY ts RANGE 5 SECONDS PRECEDING) AS a,
                      {} OVER (PARTITION BY k ORDER BY ts ROWS 9 PRECEDING) AS b FROM s""",
}


@pytest.mark.usefixtures("spark")
def test_windows_answer_as_the_built_in_ones(mill: Mill, tmp_path: Path) -> None:
    feed(tmp_path, files=3)
    created = mill.execute(STREAM + CREATE)
    assert ["no reduce_batch" in answer.message for answer in created] == [False, True, False]
    mill.execute(f"CREATE AGGREGATE common (x INT) : (value BIGINT, times INT) LANGUAGE PYTHON '{PLACE}:Commonest'")
    for kind, select in KINDS.items():
        mill.execute(f"CREATE QUERY own_{kind} AS {select.format('spread(v)', 'middle(v)')}")
        theirs = select.replace("{} OVER", "max(v) OVER", 1) if kind == "over" else select.replace("{}", "max(v)", 1)
        mill.execute(f"CREATE QUERY high_{kind} AS {theirs.format('avg(v)')}")
        mill.execute(f"CREATE QUERY low_{kind} AS {theirs.replace('max(v)', 'min(v)').format('avg(v)')}")
    mill.execute("CREATE QUERY pairs AS SELECT k, common(v) [RANGE 20 SECONDS, WA ts] FROM s GROUP BY k")
    mill.execute(
        "CREATE QUERY tops AS SELECT k, mode(v) [RANGE 20 SECONDS, WA ts] AS m, count(*) AS n FROM s GROUP BY k"
    )
    mill.wait()
    for kind in KINDS:
        own, high, low = (rows_of(mill, f"{name}_{kind}") for name in ("own", "high", "low"))
        assert own.keys() == high.keys()
        assert len(own) > 50
        for place, (spread, mean) in own.items():
            assert spread == (None if high[place][0] is None else high[place][0] - low[place][0])
            assert mean == pytest.approx(high[place][1])
    assert mill.query("pairs").to_arrow().schema.names == ["k", "value", "times"]
    assert mill.query("pairs").to_arrow().num_rows == mill.query("tops").to_arrow().num_rows


def rows_of(mill: Mill, query: str) -> dict[Any, Any]:
    rows = mill.query(query).to_arrow().to_pylist()
    found = {tuple(row.values())[:2]: tuple(row.values())[2:] for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.usefixtures("spark")
def test_a_failure_ends_its_own_query_only(live_mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millstream.udas.bind.declare._declarations", [])
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("ts,k,v\n2024-01-01T00:00:01,a,5\n2024-01-01T00:00:02,b,13\n")

    @millstream.aggregate(name="fragile")
    class Local(classes.Fragile):
        """Travels by value: there is no way to import it."""

        def finish(self, state: Any) -> float:
            return float(super().finish(state))

    live_mill.execute(STREAM + CREATE)
    select = "SELECT k, {}(v) [RANGE 10 SECONDS, WA ts] AS m FROM s GROUP BY k"
    live_mill.execute(f"CREATE QUERY good AS {select.format('middle')}; CREATE QUERY bad AS {select.format('fragile')}")
    with pytest.raises(
        RunError, match=r"aggregate fragile: reduce\(13\) failed: ZeroDivisionError: .*in the group 'b'"
    ):
        live_mill.query("bad").wait(60)
    assert live_mill.query("bad").state == "failed"
    (tmp_path / "in" / "b.csv").write_text("ts,k,v\n2024-01-01T00:01:00,a,7\n")
    live_mill.query("good").process_available()
    assert live_mill.query("good").is_active
    assert answers(live_mill, "good") == Counter([("a", 5.0), ("b", 13.0)])
    with pytest.raises(RunError, match=r"aggregate fragile: reduce\(13\) failed"):
        live_mill.execute(
            """CREATE TABLE t (ts TIMESTAMP, k STRING, v INT) SOURCE 'csv:in';
               SELECT fragile(v) [RANGE 10 SECONDS, WA ts] FROM t;"""
        )
    assert Local.__name__ == "Local"


HELPER = """
from dataclasses import dataclass, field

@dataclass
class Seen:
    values: set = field(default_factory=set)

def joined(a, b):
    return Seen(a.values | b.values)
"""

STATS = """
import helper

class Distinct:
    def zero(self):
        return helper.Seen()

    def reduce(self, state, x):
        return helper.joined(state, helper.Seen({x}))

    def merge(self, a, b):
        return helper.joined(a, b)

    def finish(self, state):
        return len(state.values)
"""

SCRIPT = """
import sys
from dataclasses import dataclass

import millstream


@dataclass
class Total:
    values: list


@millstream.aggregate
class Largest:
    def zero(self):
        return Total([])

    def reduce(self, state, x: int):
        return Total([max([*state.values, x])])

    def merge(self, a, b):
        return Total([max([*a.values, *b.values])])

    def finish(self, state) -> int:
        return state.values[0]


def main():
    conf = {"spark.executor.memory": "700m", "spark.driver.memory": "1g"}
    with millstream.connect(master="local-cluster[2,1,2048]", base=sys.argv[1], once=True, conf=conf) as mill:
        mill.execute('''
            CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SLACK 5 SECONDS
              SOURCE 'csv:in' OPTIONS (max_files_per_batch = 1);
            CREATE AGGREGATE distinct_values (x INT) : BIGINT LANGUAGE PYTHON 'stats:Distinct';
            CREATE QUERY q AS SELECT k, window_end, distinct_values(v) [RANGE 30 SECONDS, SLIDE 10 SECONDS, WA ts] AS d,
              largest(v) AS high, count(DISTINCT v) AS same, max(v) AS theirs FROM s GROUP BY k;
        ''')
        mill.wait()
        rows = mill.query("q").to_arrow().to_pylist()
        assert len(rows) > 20
        assert all(row["d"] == row["same"] and row["high"] == row["theirs"] for row in rows), rows
        print("executors", mill.spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1)
        mill.spark.stop()


if __name__ == "__main__":
    main()
"""


def test_classes_of_a_script_and_beside_it_travel_to_executors(tmp_path: Path) -> None:
    feed(tmp_path / "data", files=2)
    code = tmp_path / "code"
    code.mkdir()
    for name, text in {"helper": HELPER, "stats": STATS, "script": SCRIPT}.items():
        (code / f"{name}.py").write_text(text)
    command = [sys.executable, str(code / "script.py"), str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "executors 2" in done.stdout


@pytest.mark.usefixtures("spark")
def test_a_class_in_the_folder_of_a_connection_is_found(tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text(STATS.replace("import helper\n", HELPER).replace("helper.", ""))
    with connect(base=tmp_path, once=True, master="local[2]") as mill:
        mill.execute("CREATE AGGREGATE d (x INT) : BIGINT LANGUAGE PYTHON 'beside_it:Distinct'")
