"""Whether the rows that an engine gave for a NEXMark query are the right ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import duckdb

from millstream.errors import RunError
from millstream_bench.nexmark import oracles
from millstream_bench.nexmark.folder import KINDS
from millstream_bench.nexmark.queries import literal

CLOSE = 1e-9
"""How far a sum may be off, as a share: engines add up in different orders."""

CLOSED = {
    "q5": """
        WITH counted AS (
          SELECT auction, count(*) AS num,
            time_bucket(INTERVAL 2 SECOND, dateTime) - INTERVAL 2 SECOND * back AS starttime
          FROM bid, range(5) AS steps(back) GROUP BY auction, starttime
        ), ranked AS (SELECT *, max(num) OVER (PARTITION BY starttime) AS most FROM counted)
        SELECT auction, num FROM ranked, passed WHERE num = most AND starttime + INTERVAL 10 SECOND <= latest
    """,
    "q7": """
        WITH highest AS (
          SELECT max(price) AS high, time_bucket(INTERVAL 10 SECOND, dateTime) AS starttime FROM bid GROUP BY starttime
        )
        SELECT auction, price, bidder, dateTime, extra
        FROM bid JOIN highest ON price = high AND dateTime BETWEEN starttime AND starttime + INTERVAL 10 SECOND, passed
        WHERE starttime + INTERVAL 10 SECOND <= latest
    """,
    "q11": f"SELECT rows.* FROM ({oracles.sql('q11')}) AS rows, passed WHERE endtime <= latest",
}
"""The oracles of queries that leave windows open at the end, over the windows that the watermark of bids has passed."""

_READERS = {
    "parquet": "read_parquet({}, hive_partitioning = true, hive_types_autocast = 0)",
    "csv": "read_csv({}, header = false, all_varchar = true, quote = '\"', escape = '\"', names = {})",
}


def check(query: str, engine: str, data: Path, rows: Path) -> int:
    """Compare the rows that an engine left in a folder with what they must be; how many there are.

    Millstream and Flink answer all windows at the end of the data, Spark those that its watermark has passed.
    """
    if engine == "millstream":
        verdict = oracles.judge(query, data, rows)
        _settle(query, engine, verdict.missing, verdict.surplus)
        return verdict.rows
    wanted = CLOSED[query] if engine == "spark" and query in CLOSED else oracles.sql(query)
    with _events(data) as db:
        db.execute(f"CREATE TABLE wanted AS {wanted}")
        columns = {name: kind for name, kind, *_ in db.execute("DESCRIBE wanted").fetchall()}
        db.execute(f"CREATE TABLE given AS {_given(rows, columns)}")
        names = ", ".join(_comparable(name, kind) for name, kind in columns.items())
        missing, surplus = (
            tuple(str(row) for row in db.execute(f"{_difference(names, *sides)} LIMIT 5").fetchall())
            for sides in (("wanted", "given"), ("given", "wanted"))
        )
        _settle(query, engine, missing, surplus)
        (count,) = db.execute("SELECT count(*) FROM given").fetchone() or (0,)
    return int(count)


def check_sums(query: str, engine: str, data: Path, found: Mapping[str, float]) -> int:
    """Compare sums over the rows of an engine with those over the rows that must be; how many there are."""
    with _events(data) as db:
        sums = ", ".join(_in_duckdb(one) for one in found)
        wanted = db.execute(f"SELECT {sums}, count(*) FROM ({oracles.sql(query)})").fetchone() or ()
    for (name, value), right in zip(found.items(), wanted[:-1], strict=True):
        if not math.isclose(value, float(right), rel_tol=CLOSE):
            raise RunError(f"{engine} is wrong on {query}: {name} is {value:,}, and should be {float(right):,}")
    return int(wanted[-1])


def _settle(query: str, engine: str, missing: tuple[str, ...], surplus: tuple[str, ...]) -> None:
    if missing or surplus:
        told = [f"\n  missing: {row}" for row in missing] + [f"\n  too many: {row}" for row in surplus]
        raise RunError(f"{engine} is wrong on {query}{''.join(told)}")


def _difference(names: str, one: str, other: str) -> str:
    return f"SELECT {names} FROM {one} EXCEPT ALL SELECT {names} FROM {other}"


def _given(rows: Path, columns: Mapping[str, str]) -> str:
    """The rows of a folder with the columns and kinds that are wanted: Flink writes text without names."""
    form = "parquet" if any(rows.rglob("*.parquet")) else "csv"
    # Flink's files have no ending, and those that Spark keeps for itself begin with a dot or an underscore.
    pattern = literal(f"{rows}/**/*.parquet" if form == "parquet" else f"{rows}/**/*")
    source = _READERS[form].format(pattern, [*columns])
    return (
        "SELECT "
        + ", ".join(f'CAST("{name}" AS {kind}) AS "{name}"' for name, kind in columns.items())
        + (f" FROM {source}")
    )


def _comparable(column: str, kind: str) -> str:
    """Averages are rounded: sums of them may be rounded in another order."""
    return f'round("{column}", 4)' if kind == "DOUBLE" else f'"{column}"'


def _in_duckdb(expression: str) -> str:
    return expression.replace("`", '"').replace("CHAR_LENGTH", "length")


def _events(data: Path) -> duckdb.DuckDBPyConnection:
    """A database with the events of a folder, and the time that a watermark of four seconds has passed at the end."""
    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    for kind in (*KINDS, "side"):
        files = literal(f"{data}/{kind}/*.parquet")
        times = {"auction": ("dateTime", "expires"), "side": ()}.get(kind, ("dateTime",))
        plain = ", ".join(f"{name}::TIMESTAMP AS {name}" for name in times)
        db.execute(f"CREATE VIEW {kind} AS SELECT * {f'REPLACE ({plain})' if plain else ''} FROM read_parquet({files})")
    db.execute("CREATE VIEW passed AS SELECT max(dateTime) - INTERVAL 4 SECOND AS latest FROM bid")
    return db
