"""No seam: wherever history ends and live begins, the answers are those over all rows, however these come in batches.

Each example runs a stream over several lives of a mill. In each some files come, some queries are created, and the log
is compacted. What all lives have answered together is what DuckDB answers over all rows.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from millstream.connectors.history import log_source
from millstream.mill import Mill, connect
from tests.drawing import THOROUGH

pytestmark = pytest.mark.spark

START = datetime(2024, 1, 1, tzinfo=UTC)
SLACK = 3
WINDOW = 4

STREAM = f"""
    CREATE STREAM s (id INT NOT NULL, ts TIMESTAMP NOT NULL, v DOUBLE) ORDER BY ts SLACK {SLACK} SECONDS KEEP ALL
    SOURCE 'csv:in';
"""
QUERIES = {
    "rows": "SELECT id, v FROM s",
    "windows": f"SELECT window_start AS a, count(*) [RANGE {WINDOW} SECONDS, SLIDE 2 SECONDS, WA ts] AS b FROM s",
    "positive": f"SELECT window_start AS a, sum(id) [RANGE {WINDOW} SECONDS, WA ts] AS b FROM s WHERE v > 0",
    "over": "SELECT id, count(*) OVER (ORDER BY ts RANGE INTERVAL '2' SECOND PRECEDING) AS b FROM s",
}
WHOLE = {
    "rows": "SELECT id, v FROM s",
    "windows": f"""SELECT w AS a, count(*) AS b FROM s, range(-{WINDOW}, 64, 2) AS r(w)
        WHERE t >= w AND t < w + {WINDOW} GROUP BY w""",
    "positive": f"SELECT {WINDOW} * (t // {WINDOW}) AS a, sum(id) AS b FROM s WHERE v > 0 GROUP BY 1",
    "over": """SELECT id, count(*) OVER (ORDER BY t RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS b FROM s""",
}


@st.composite
def arrivals(draw: st.DrawFn) -> list[tuple[int, int, float]]:
    """Rows (id, second, v) out of order, within the slack."""
    times = draw(st.lists(st.integers(0, 40), min_size=6, max_size=40))
    delayed = sorted((t + draw(st.integers(0, SLACK)), t) for t in times)
    return [(n, t, float(draw(st.integers(-1, 2)))) for n, (_, t) in enumerate(delayed)]


def put(folder: Path, name: int, rows: list[tuple[int, int, float]]) -> None:
    folder.mkdir(exist_ok=True)
    lines = "".join(f"{n},{(START + timedelta(seconds=t)).replace(tzinfo=None).isoformat()},{v}\n" for n, t, v in rows)
    hidden = folder / f".{name}"
    hidden.write_text(f"id,ts,v\n{lines}")
    hidden.rename(folder / f"{name:03}.csv")


def answers(mill: Mill, query: str) -> Counter[tuple[object, ...]]:
    table = mill.query(query).to_arrow()
    columns = [table.column(n).to_pylist() for n in range(2)]
    seconds = [[(v - START).total_seconds() if isinstance(v, datetime) else v for v in column] for column in columns]
    return Counter(zip(*seconds, strict=True))


def over_all(name: str, rows: list[tuple[int, int, float]]) -> Counter[tuple[object, ...]]:
    with duckdb.connect() as db:
        db.execute("CREATE TABLE s (id INT, t INT, v DOUBLE)")
        db.executemany("INSERT INTO s VALUES (?, ?, ?)", rows)
        return Counter(db.execute(WHOLE[name]).fetchall())


@settings(
    max_examples=60 if THOROUGH else 3,
    derandomize=not THOROUGH,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_history_and_live_have_no_seam(spark: object, monkeypatch: pytest.MonkeyPatch, data: st.DataObject) -> None:
    rows = data.draw(arrivals(), "rows")
    lives = data.draw(st.integers(1, 3), "lives")
    cuts = sorted(
        data.draw(st.lists(st.integers(1, len(rows)), min_size=3 * lives - 1, max_size=3 * lives - 1), "cuts")
    )
    files = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    created = {name: data.draw(st.integers(0, lives - 1), name) for name in QUERIES}
    monkeypatch.setattr(log_source, "MOST_ROWS", data.draw(st.sampled_from([3, 1000]), "rows in a batch"))
    found: dict[str, Counter[tuple[object, ...]]] = {name: Counter() for name in QUERIES}
    with tempfile.TemporaryDirectory() as place:
        base = Path(place)
        for life in range(lives):
            last = life == lives - 1
            begun = [name for name, when in created.items() if when <= life]
            create = "".join(f"CREATE QUERY {n} AS {QUERIES[n]} START AT EARLIEST;" for n in begun)
            first, *later = range(3 * life, 3 * life + 3)
            for number in (first, *later) if last else (first,):
                put(base / "in", number, files[number])
            with connect(base / "home", base=base, once=last, master="local[2]") as mill:
                mill.execute(STREAM + create)
                if last:
                    mill.execute("".join(f"CREATE QUERY again_{n} AS {QUERIES[n]};" for n in QUERIES))
                    mill.wait()
                for number in () if last else later:
                    put(base / "in", number, files[number])
                    for name in begun[number % 2 :]:
                        mill.query(name).process_available()
                mill.engine.readers.tidy()
                for name in begun:
                    found[name] = answers(mill, name)  # also those of earlier lives
                if last:
                    again = {name: answers(mill, f"again_{name}") for name in QUERIES}
    for name in QUERIES:
        expected = over_all(name, rows)
        assert found[name] == expected, name
        assert again[name] == expected, f"{name}, over history alone"
