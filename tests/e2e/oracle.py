"""DuckDB as the independent judge: the same SELECT over the same files must give the same rows."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import duckdb

_DIALECT = """header=true, allow_quoted_nulls=false, auto_detect=false, delim=',', quote='"', escape='"'"""

Rows = Counter[tuple[object, ...]]


def duckdb_rows(data: Path, columns: dict[str, str], select: str, views: dict[str, str] | None = None) -> Rows:
    """What DuckDB gives for a SELECT over a CSV file that is called `s` there."""
    with duckdb.connect() as db:
        types = ", ".join(f"'{n}': '{t}'" for n, t in columns.items())
        db.execute(f"CREATE VIEW s AS SELECT * FROM read_csv('{data}', columns={{{types}}}, {_DIALECT})")
        for name, text in (views or {}).items():
            db.execute(f"CREATE VIEW {name} AS {text}")
        return Counter(tuple(_plain(v) for v in row) for row in db.execute(select).fetchall())


def csv_rows(folder: Path, types: list[str]) -> Rows:
    """The rows of a CSV sink: a file, or a folder of files, read as a plain reader would."""
    files = [folder] if folder.is_file() else sorted(folder.glob("*.csv"))
    rows: Rows = Counter()
    for file in files:
        with duckdb.connect() as db:
            names = ", ".join(f"'c{i}': '{t}'" for i, t in enumerate(types))
            found = db.execute(f"SELECT * FROM read_csv('{file}', columns={{{names}}}, {_DIALECT})").fetchall()
        rows.update(tuple(_plain(v) for v in row) for row in found)
    return rows


def write_csv(path: Path, names: list[str], rows: list[list[object]]) -> None:
    """A CSV file as people write them: NULL is an empty field, an empty string is quoted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as out:
        out.write(",".join(names) + "\n")
        for row in rows:
            out.write(",".join(_field(v) for v in row) + "\n")


def _field(value: object) -> str:
    if value is None:
        return ""
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    if isinstance(value, str) and (text == "" or any(c in text for c in ',"\n')):
        return '"' + text.replace('"', '""') + '"'
    return text


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float):
        return round(value, 9)
    return value


COLUMNS = {
    "id": "INTEGER",
    "big": "BIGINT",
    "price": "DOUBLE",
    "cost": "DECIMAL(10,2)",
    "name": "VARCHAR",
    "city": "VARCHAR",
    "born": "DATE",
    "ts": "TIMESTAMP",
    "ok": "BOOLEAN",
}
ESL_COLUMNS = """id INT, big BIGINT, price DOUBLE, cost DECIMAL(10,2), name STRING, city CHAR(10), born DATE,
                 ts TIMESTAMP, ok BOOLEAN"""


def sample(count: int, seed: int = 7) -> list[list[object]]:
    """Rows with every kind of value that goes wrong easily: NULLs, quotes, commas, negative numbers, leap days."""
    chance = random.Random(seed)
    names = ["ann", "Bob", "", "o'neil", 'say "hi"', "a,b", " pad ", "émile", "x" * 30]
    rows: list[list[object]] = []
    for i in range(count):
        row: list[object] = [
            chance.randint(-50, 50),
            chance.randint(-(2**40), 2**40),
            round(chance.uniform(-1000, 1000), 3),
            Decimal(chance.randint(-99999, 99999)) / 100,
            chance.choice(names),
            chance.choice(["Oslo", "Rome", "Lima"]),
            datetime(2024, chance.choice([1, 2, 12]), chance.choice([1, 28]), 0, 0).date(),
            datetime(
                2024, 2, chance.choice([28, 29]), chance.randint(0, 23), chance.randint(0, 59), i % 60, (i % 4) * 250000
            ),
            chance.choice(["true", "false"]),
        ]
        rows.append([None if n and chance.random() < 0.12 else v for n, v in enumerate(row)])
    return rows
