"""Rows that do not parse never stop a query: good ones arrive, broken ones are in REJECTED, and both are counted."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.mill import Mill

pytestmark = pytest.mark.spark

BROKEN = (
    "x{i},name,1.5,2024-01-01T00:00:00",
    "{i},name",
    "{i},name,1.5,2024-01-01T00:00:00,extra",
    "{i},name,dear,2024-01-01T00:00:00",
    "{i},name,1.5,yesterday",
    '{i},"name,1.5,2024-01-01T00:00:00',
    "### {i} garbage",
    "99999999999{i},name,1.5,2024-01-01T00:00:00",
    "{i};name;1.5;2024-01-01T00:00:00",
)


def test_csv_with_one_percent_broken_rows(run: Callable[[str], Mill], tmp_path: Path) -> None:
    chance = random.Random(3)
    good, broken, lines = [], [], ["id,name,price,ts"]
    for i in range(5000):
        if chance.random() < 0.01:
            line = chance.choice(BROKEN).format(i=i)
            broken.append(line)
        else:
            line = f"{i},n{i},{i}.5,2024-01-01T00:00:00"
            good.append(i)
        lines.append(line)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("\n".join(lines) + "\n")
    mill = run("""
        CREATE STREAM s (id INT, name STRING, price REAL, ts TIMESTAMP) ORDER BY ts SOURCE 'csv:in/*.csv';
        CREATE QUERY some AS SELECT id FROM s;
        CREATE QUERY bad AS SELECT raw, reason, origin FROM s.REJECTED;
    """)
    assert mill.query("some").to_arrow()["id"].to_pylist() == good
    rejected = mill.query("bad").to_arrow().to_pylist()
    assert [r["raw"] for r in rejected] == broken
    assert all(r["reason"] and r["origin"].endswith("a.csv") for r in rejected)
    assert mill.query("some").counts.rejected == {"s": len(broken)}


def test_a_row_is_rejected_whatever_the_query_reads(run: Callable[[str], Mill], tmp_path: Path) -> None:
    rows = [
        {"id": 1, "n": 1},
        {"id": 2, "n": "x"},
        {"id": 3, "n": 2.5},
        {"id": 6, "n": "7"},
        {"id": 4},
        {"id": 5, "n": None, "other": 1},
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text("".join(json.dumps(r) + "\n" for r in rows) + "{not json\n")
    mill = run("""
        CREATE STREAM s (id INT, n INT) SOURCE 'json:in';
        CREATE QUERY ids AS SELECT id FROM s;
        CREATE QUERY bad AS SELECT * FROM s.REJECTED;
    """)
    assert mill.query("ids").to_arrow()["id"].to_pylist() == [1, 4, 5]
    reasons = mill.query("bad").to_arrow()["reason"].to_pylist()
    assert reasons[:3] == ["n: 'x' is not an INT", "n: 2.5 is not an INT", "n: '7' is not an INT"]
    assert reasons[3].startswith("not JSON:")


def test_reasons_follow_the_header_of_the_file(run: Callable[[str], Mill], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("extra,price,id\nx,1.5,1\nx,dear,2\nx,123456789.5,3\n")
    mill = run("""
        CREATE STREAM s (id INT, price DECIMAL(5,2)) SOURCE 'csv:a.csv';
        CREATE QUERY bad AS SELECT raw, reason FROM s.REJECTED;
    """)
    assert mill.query("bad").to_arrow()["reason"].to_pylist() == [
        "price: 'dear' is not a DECIMAL(5, 2)",
        "price: '123456789.5' is not a DECIMAL(5, 2)",
    ]


def test_punctuation_carried_in_the_data_is_no_tuple(run: Callable[[str], Mill], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,ts\n1,2024-01-01T00:00:00\n,2024-01-01T00:01:00\n2,2024-01-01T00:02:00\n")
    mill = run("""
        CREATE STREAM s (id INT, ts TIMESTAMP) ORDER BY ts PUNCTUATED BY (id IS NULL) SOURCE 'csv:a.csv';
        CREATE QUERY q AS SELECT id FROM s;
    """)
    assert mill.query("q").to_arrow()["id"].to_pylist() == [1, 2]


def test_not_null_columns_reject_rows_without_a_value(run: Callable[[str], Mill], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,n\n1,1\n2,\n")
    mill = run("""
        CREATE STREAM s (id INT, n INT NOT NULL) SOURCE 'csv:a.csv';
        CREATE QUERY all_ids AS SELECT id FROM s;
        CREATE QUERY bad AS SELECT raw, reason FROM s.REJECTED;
    """)
    assert mill.query("all_ids").to_arrow()["id"].to_pylist() == [1]
    assert mill.query("bad").to_arrow().to_pylist() == [{"raw": "2,", "reason": "n: NULL, but the column is NOT NULL"}]


def test_bad_values_in_expressions_give_null_and_the_query_lives(run: Callable[[str], Mill], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("i,b,t\n2147483647,9223372036854775807,x\n6,3,7\n")
    mill = run("""
        CREATE STREAM s (i INT, b BIGINT, t STRING) SOURCE 'csv:a.csv';
        CREATE QUERY q AS SELECT i + 1 AS a, b * 2 AS b, CAST(t AS INT) AS c, i / (i - i) AS d, CAST(b AS INT) AS e,
                                 i % 0 AS f, to_date(t) AS g, -(-i - 1) AS h,
                                 to_json(parse_json(t)) AS j, array(1, i)[1] AS k FROM s;
    """)
    assert [tuple(r.values()) for r in mill.query("q").to_arrow().to_pylist()] == [
        (None, None, None, None, None, None, None, None, None, 2147483647),
        (7, 6, 7, None, 3, None, None, 7, "7", 6),
    ]
