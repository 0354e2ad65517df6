"""Same rows in, same rows out: whatever the order of arrival and the cut into files and micro-batches."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.mill import connect
from tests.drawing import drawn
from tests.e2e.oracle import COLUMNS, ESL_COLUMNS, csv_rows, duckdb_rows, sample, write_csv

pytestmark = pytest.mark.spark

VIEWS = {
    "dear": "SELECT id, price, upper(name) AS name FROM s WHERE price > 0",
    "odd": "SELECT id, price * 2 AS twice, name FROM dear WHERE id % 2 = 1",
}
SELECT = "SELECT id, CASE WHEN twice > 100 THEN name ELSE 'small' END AS label, twice FROM odd"
TYPES = ["INTEGER", "VARCHAR", "DOUBLE"]
ROWS = sample(60, seed=11)


@drawn(5)
@given(data=st.data(), files=st.integers(1, 5), per_batch=st.integers(1, 3))
def test_any_cut_gives_the_same_rows(spark: object, data: st.DataObject, files: int, per_batch: int) -> None:
    rows = data.draw(st.permutations(ROWS))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), min_size=files - 1, max_size=files - 1)))
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(rows)], strict=True)):
            write_csv(base / "in" / f"{number}.csv", list(COLUMNS), rows[start:stop])
        write_csv(base / "all.csv", list(COLUMNS), rows)
        with connect(base=base, once=True) as mill:
            options = f"OPTIONS (max_files_per_batch = {per_batch})"
            views = "".join(f"CREATE STREAM {name} AS {text};" for name, text in VIEWS.items())
            mill.execute(f"""
                CREATE STREAM s ({ESL_COLUMNS}) ORDER BY ts SLACK 1 DAY SOURCE 'csv:in' {options};
                {views}
                CREATE SINK o TO 'csv:out'; INSERT INTO o {SELECT};
            """)
            mill.wait()
            assert mill.query("o").counts.batches >= min(files, -(-files // per_batch))
        assert csv_rows(base / "out", TYPES) == duckdb_rows(base / "all.csv", COLUMNS, SELECT, VIEWS)
