"""Times of any year: what Python cannot hold is shown as text, and no table is lost for one of them."""

from __future__ import annotations

import io
import json
import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from millstream.catalog.far_times import day_text, moment_text
from millstream.cli.rows import RowPrinter, rich_table
from millstream.mill.text import csv_text
from millstream.mill.values import frame, rows, values

FAR = [0, -62_135_596_800_000_001, 253_402_300_800_000_000, 2**63 - 1, -(2**63) + 1, None]
TEXTS = [
    "0000-12-31T23:59:59.999999",
    "+10000-01-01T00:00:00",
    "+294247-01-10T04:00:54.775807",
    "-290308-12-21T19:59:05.224193",
]
MOMENTS = pa.array(FAR, pa.timestamp("us", "UTC"))
DATES = pa.array([0, -719_163, 2_932_897, 2**31 - 1, -(2**31), None], pa.int32()).cast(pa.date32())
TABLE = pa.table(
    {
        "ts": MOMENTS,
        "ntz": pa.array(FAR, pa.timestamp("us")),
        "day": DATES,
        "list": pa.array([[v] for v in FAR], pa.list_(MOMENTS.type)),
        "struct": pa.StructArray.from_arrays([MOMENTS, DATES], ["ts", "day"]),
        "map": pa.array([[("k", v)] for v in FAR], pa.map_(pa.string(), MOMENTS.type)),
    }
)


def test_what_python_can_hold_is_as_it_was() -> None:
    found = rows(TABLE)
    assert found[0] == TABLE.slice(0, 1).to_pylist()[0]
    assert found[5] == TABLE.slice(5).to_pylist()[0]


def test_what_it_cannot_hold_is_text() -> None:
    found = rows(TABLE)[1:5]
    assert [row["ts"] for row in found] == TEXTS
    assert [row["ntz"] for row in found] == TEXTS
    assert [row["day"] for row in found] == ["0000-12-31", "+10000-01-01", "+5881580-07-11", "-5877641-06-23"]
    assert [row["list"] for row in found] == [[text] for text in TEXTS]
    assert [row["struct"]["ts"] for row in found] == TEXTS
    assert [row["map"] for row in found] == [[("k", text)] for text in TEXTS]


def test_it_is_as_iso_8601_has_it_in_all_years_that_python_knows() -> None:
    chance = random.Random(7)
    for _ in range(2000):
        moment = datetime(1, 1, 1) + timedelta(microseconds=chance.randrange(9999 * 365 * 86_400 * 10**6))
        micros = (moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        assert moment_text(micros) == moment.isoformat()
        assert day_text(micros // (86_400 * 10**6)) == moment.date().isoformat()


def test_rows_are_shown() -> None:
    assert csv_text(TABLE.select(["ts", "day"])).splitlines()[3] == "+10000-01-01T00:00:00,+10000-01-01"
    assert rich_table("t", TABLE).row_count == 6
    RowPrinter(as_json=True, out=(out := io.StringIO())).table("t", TABLE)
    assert [json.loads(line)["row"]["ts"] for line in out.getvalue().splitlines()][1:5] == TEXTS


def test_pandas_gets_them() -> None:
    made = frame(TABLE)
    assert str(made["ts"].dtype) == "datetime64[us, UTC]"
    assert made["day"].astype(str).tolist()[2] == "10000-01-01"
    assert frame(TABLE.select(["ts", "day"]).slice(0, 1))["day"].tolist() == [datetime(1970, 1, 1).date()]


@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
def test_other_units(unit: str) -> None:
    assert values(pa.array([0], pa.timestamp(unit)))[0] == datetime(1970, 1, 1)
