"""Aggregates in Python on Spark: classes that travel by value, and failures that stay alone."""

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
from tests.e2e.windows.test_windows import STREAM, answers
from tests.queries.arrivals import Arrival, appear
from tests.queries.cases import shared_inputs
from tests.udas import classes

pytestmark = pytest.mark.spark

PLACE = classes.__name__
CREATE = f"""
    CREATE AGGREGATE spread (x BIGINT) : BIGINT LANGUAGE PYTHON '{PLACE}:Spread';
    CREATE AGGREGATE middle (x BIGINT) : DOUBLE LANGUAGE PYTHON '{PLACE}:BatchMean';
"""


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
              SOURCE 'csv:readings' OPTIONS (max_files_per_batch = 1);
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
    (readings,) = shared_inputs("readings")
    appear(Arrival(files=2).write(readings, tmp_path / "data"))
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
