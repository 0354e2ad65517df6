"""Transducers give exactly the rows that DuckDB gives for the same SELECT."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.mill import Mill
from tests.e2e.oracle import COLUMNS, ESL_COLUMNS, csv_rows, duckdb_rows, sample, write_csv

pytestmark = pytest.mark.spark

# name -> the SELECT that both run, and the types of its columns
SELECTS: dict[str, tuple[str, list[str]]] = {
    "filters": (
        "SELECT id, name FROM s WHERE (price > 0 AND id <> 3) OR name LIKE 'a%' OR city IN ('Oslo', 'Rome') AND NOT ok",
        ["INTEGER", "VARCHAR"],
    ),
    "arithmetic": (
        "SELECT id, id + 1 AS a, id * 2 - 3 AS b, price / 4 AS c, id % 7 AS d, -id AS e, price * price AS f, "
        "cost + 1 AS g, big - id AS h, abs(id) AS i, round(price, 1) AS j, floor(price) AS k, id / 2 AS l FROM s",
        ["INTEGER", "INTEGER", "INTEGER", "DOUBLE", "INTEGER", "INTEGER", "DOUBLE", "DECIMAL(11,2)", "BIGINT",
         "INTEGER", "DOUBLE", "DOUBLE", "DOUBLE"],
    ),
    "strings": (
        "SELECT id, upper(name) AS a, lower(city) AS b, length(name) AS c, substr(name, 2, 3) AS d, trim(name) AS e, "
        "name || '-' || city AS f, replace(name, 'a', 'A') AS g, 'it''s' AS h, reverse(name) AS i, "
        "lpad(city, 6, '.') AS j, contains(name, 'a') AS k, concat_ws('/', city, 'x') AS l FROM s",
        ["INTEGER", "VARCHAR", "VARCHAR", "INTEGER", "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR",
         "VARCHAR", "BOOLEAN", "VARCHAR"],
    ),
    "dates": (
        "SELECT id, year(born) AS a, month(ts) AS b, day(born) AS c, hour(ts) AS d, extract(minute FROM ts) AS e, "
        "date_trunc('hour', ts) AS f, CAST(ts AS DATE) AS g, ts + INTERVAL 90 MINUTE AS h, ts AS i, born AS j, "
        "last_day(born) AS k FROM s WHERE ts >= '2024-02-28 06:00:00' OR born < DATE '2024-02-28'",
        ["INTEGER", "INTEGER", "INTEGER", "INTEGER", "INTEGER", "INTEGER", "TIMESTAMP", "DATE", "TIMESTAMP",
         "TIMESTAMP", "DATE", "DATE"],
    ),
    "case": (
        "SELECT id, CASE WHEN price < 0 THEN 'neg' WHEN price IS NULL THEN 'none' ELSE 'pos' END AS a, "
        "CASE city WHEN 'Oslo' THEN 1 WHEN 'Rome' THEN 2 END AS b, if(ok, 'y', 'n') AS c FROM s",
        ["INTEGER", "VARCHAR", "INTEGER", "VARCHAR"],
    ),
    "nulls": (
        "SELECT id, coalesce(name, city, '?') AS a, nullif(city, 'Oslo') AS b, name IS NULL AS c, "
        "price IS NOT NULL AS d, price > NULL AS e, ifnull(price, 0) AS f, greatest(id, 0) AS g, id + NULL AS h "
        "FROM s WHERE price IS NULL OR ok IS NOT NULL",
        ["INTEGER", "VARCHAR", "VARCHAR", "BOOLEAN", "BOOLEAN", "BOOLEAN", "DOUBLE", "INTEGER", "INTEGER"],
    ),
    "casts": (
        "SELECT id, CAST(id AS STRING) AS a, CAST(price AS DECIMAL(12,1)) AS b, CAST('12' AS INT) AS c, "
        "CAST(born AS TIMESTAMP) AS d, TRY_CAST(name AS INT) AS e, CAST(ok AS INT) AS f FROM s",
        ["INTEGER", "VARCHAR", "DECIMAL(12,1)", "INTEGER", "TIMESTAMP", "INTEGER", "INTEGER"],
    ),
    "subqueries": (
        "SELECT x.a * 2 AS b FROM (SELECT id + 1 AS a FROM (SELECT id FROM s WHERE price > 0) AS y WHERE id > 0) AS x",
        ["INTEGER"],
    ),
    "three_deep": ("SELECT id, label, twice FROM deepest WHERE twice > 0", ["INTEGER", "VARCHAR", "DOUBLE"]),
    "all_columns": ("SELECT * FROM s", list(COLUMNS.values())),
}  # fmt: skip

VIEWS = {
    "positive": "SELECT * FROM s WHERE price > -500",
    "labelled": "SELECT id, price, upper(city) AS label, ts FROM positive WHERE id IS NOT NULL",
    "deepest": "SELECT id, label, price * 2 AS twice FROM labelled WHERE label <> 'LIMA'",
}


def prepare(folder: Path, seed: int) -> str:
    """The data, in several files so that a query sees its rows in several pieces, and the script over them."""
    rows = sample(400, seed)
    for part in range(3):
        write_csv(folder / "in" / f"{part}.csv", list(COLUMNS), rows[part::3])
    write_csv(folder / "all.csv", list(COLUMNS), rows)
    script = [f"CREATE STREAM s ({ESL_COLUMNS}) ORDER BY ts SLACK 1 HOUR SOURCE 'csv:in/*.csv';"]
    script += [f"CREATE STREAM {name} AS {text};" for name, text in VIEWS.items()]
    for name, (select, _) in SELECTS.items():
        script += [f"CREATE SINK {name} TO 'csv:out/{name}';", f"INSERT INTO {name} {select};"]
    return "\n".join(script)


def check(folder: Path) -> None:
    for name, (select, types) in SELECTS.items():
        expected = duckdb_rows(folder / "all.csv", COLUMNS, select, VIEWS)
        found = csv_rows(folder / "out" / name, types)
        assert found == expected, f"{name}: not {list(found - expected)[:3]} but {list(expected - found)[:3]}"


def test_selects_equal_duckdb(run: Callable[[str], Mill], tmp_path: Path) -> None:
    run(prepare(tmp_path, seed=7))
    check(tmp_path)


def test_the_command_equals_duckdb(tmp_path: Path) -> None:
    (tmp_path / "x.esl").write_text(prepare(tmp_path, seed=99))
    command = [sys.executable, "-m", "millstream.cli.main", "run", str(tmp_path / "x.esl"), "--once"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    check(tmp_path)
