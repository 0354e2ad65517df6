"""Time stamps of any year on Spark, up to the ends of int64: cast, shown and computed with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.mill import Mill
from millstream.mill.values import rows

pytestmark = pytest.mark.spark

FILE = """id,ts,d,us
1,0001-01-01T00:00:00,0001-01-01,-9223372036854775808
2,1500-02-28T12:00:00,1500-02-28,0
3,9999-12-31T23:59:59.999999,9999-12-31,9223372036854775807
4,+10000-01-01T00:00:00,+10000-01-01,253402300800000000
5,-0044-03-15T00:00:00,-0044-03-15,-62167219200000001
"""

PAST_THE_END = {
    "u + INTERVAL '1' DAY": [3],
    "u - INTERVAL '1' DAY": [1],
    "u + INTERVAL '200000' YEAR": [3],
    "u - TIMESTAMP '9999-12-31'": [1],
    "timestamp_millis(us)": [1, 3, 4, 5],
    "timestamp_seconds(us)": [1, 3, 4, 5],
    "date_trunc('YEAR', u)": [1],
    "timestampadd(DAY, 5, u)": [3],
    "from_utc_timestamp(u, 'Asia/Tokyo')": [3],
    "make_timestamp(100 * us, 1, 1, 0, 0, 0)": [1, 3, 4, 5],
    "d + 2147483647": [3, 4],
    "date_add(d, 2147483647)": [3, 4],
    "date_sub(d, 2147483647)": [1, 2, 5],
    "add_months(d, 1000000000)": [1, 2, 3, 4, 5],
    "CAST(date_add(d, 1000000000) AS TIMESTAMP)": [1, 2, 3, 4, 5],
}
"""What is NULL for which rows: what would lie past the ends of time neither wraps around nor stops the query."""


def test_arithmetic(run: Callable[[str], Mill], tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(FILE)
    items = ", ".join(f"{text} AS c{number}" for number, text in enumerate(PAST_THE_END))
    mill = run(f"""
        CREATE STREAM s (id INT, ts TIMESTAMP, d DATE, us BIGINT, u TIMESTAMP AS (timestamp_micros(us)))
          ORDER BY ts SOURCE 'csv:s.csv';
        CREATE QUERY computed AS SELECT id, u, CAST(ts AS STRING) AS text, {items} FROM s;
    """)
    found = rows(mill.query("computed").to_arrow().sort_by("id"))
    nulls = {text: [row["id"] for row in found if row[f"c{n}"] is None] for n, text in enumerate(PAST_THE_END)}
    assert nulls == PAST_THE_END
    assert found[2]["text"] == "9999-12-31 23:59:59.999999"
    assert found[2]["u"] == "+294247-01-10T04:00:54.775807"
    assert len(mill.query("computed").to_pandas()) == 5
