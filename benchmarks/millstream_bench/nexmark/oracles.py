"""What the queries must answer: the same questions in SQL, put to DuckDB over the same files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import duckdb

from millstream.mill import connect
from millstream_bench.nexmark.queries import LATEST, PARTS, literal, text

SHOWN = 5
"""How many wrong rows a verdict shows."""

_READERS = {
    "parquet": "read_parquet({})",
    "csv": "read_csv({}, header=true, quote='\"', escape='\"')",
    "json": "read_json({})",
}


@dataclass(frozen=True)
class Verdict:
    """How many rows a query gave; and some rows, as text, that are missing or too many."""

    rows: int
    missing: tuple[str, ...]
    surplus: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the rows are those of the oracle, each as often as there."""
        return not self.missing and not self.surplus


def check(name: str, folder: Path, results: Path, kind: str = "parquet", files_per_batch: int | None = None) -> Verdict:
    """Run a query over all events in a folder, keep its rows in another folder of its own, and judge them."""
    out = results.absolute() / name
    with connect(base=folder, once=True) as mill:
        mill.execute(text(name, str(folder.absolute()), kind, f"parquet:{out}", files_per_batch))
        mill.wait()
    return judge(name, folder, out, kind)


def judge(name: str, folder: Path, out: Path, kind: str = "parquet") -> Verdict:
    """Compare the rows of a query, Parquet files in the folder `out`, with what the oracle gives for the same events.

    Times of arrival are not in the events: of q12 only the sum of each bidder is compared.
    """
    with events(folder, kind) as db:
        written = f"read_parquet({literal(f'{out}/**/*.parquet')}, hive_partitioning=true, hive_types_autocast=false)"
        db.execute(f"CREATE VIEW written AS FROM {written}")
        db.execute(f"CREATE TABLE given AS {_present(name)}")
        db.execute(f"CREATE TABLE wanted AS {sql(name)}")
        described = db.execute("DESCRIBE wanted").fetchall()
        columns = ", ".join(_comparable(column, type_) for column, type_, *_ in described)
        missing = _difference(db, columns, "wanted", "given")
        surplus = _difference(db, columns, "given", "wanted")
        (rows,) = db.execute("SELECT count(*) FROM given").fetchone() or (0,)
    return Verdict(rows, missing, surplus)


def sql(name: str) -> str:
    """The oracle of a query, as DuckDB reads it, over `person`, `auction`, `bid` and `side`."""
    return (files(__package__) / "oracles" / f"{name}.sql").read_text(encoding="utf-8")


def _present(name: str) -> str:
    if name in LATEST:
        return "SELECT * EXCLUDE window_end FROM written WHERE window_end = (SELECT max(window_end) FROM written)"
    if name == "q12":
        return "SELECT bidder, sum(bid_count) AS bid_count FROM written GROUP BY bidder"
    return "FROM written"


def _difference(db: duckdb.DuckDBPyConnection, columns: str, one: str, other: str) -> tuple[str, ...]:
    select = f"SELECT {columns} FROM {one} EXCEPT ALL SELECT {columns} FROM {other} LIMIT {SHOWN}"
    return tuple(str(row) for row in db.execute(select).fetchall())


def _comparable(column: str, type_: str) -> str:
    """Averages are rounded: the last digits hang on the order of the sums."""
    if type_ == "DOUBLE":
        return f"round({column}, 4) AS {column}"
    return f"{column}::TIMESTAMP AS {column}" if type_.startswith("TIMESTAMP") else column


@contextmanager
def events(folder: Path, kind: str = "parquet") -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with the events of a folder, their times without zones."""
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        for part in PARTS:
            rows = _READERS[kind].format(literal(f"{folder}/{part}/*"))
            described = db.execute(f"DESCRIBE FROM {rows}").fetchall()
            columns = ", ".join(
                f"{name}::{'TIMESTAMP' if name in {'dateTime', 'expires'} else type_} AS {name}"
                for name, type_, *_ in described
            )
            db.execute(f"CREATE VIEW {part} AS SELECT {columns} FROM {rows}")
        yield db
