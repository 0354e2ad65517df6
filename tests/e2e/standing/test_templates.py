"""Registrations of a template against DuckDB's join of the stream with the table of registrations."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pc_csv
import pytest

from millstream import RunError
from millstream.mill import Mill, connect

pytestmark = pytest.mark.spark

BID = "CREATE STREAM bid (id INT, item INT, price DOUBLE, who STRING, ts TIMESTAMP) ORDER BY ts SLACK 10 SECONDS"
WORDS = ["ann", "anna", "bob", "bo", "b%b", "", "zoe"]


def bids(count: int, seed: int) -> pa.Table:
    """Bids out of order by no more than the slack, with a NULL here and there."""
    chance = random.Random(seed)
    rows = []
    for number in range(count):
        second = number // 4 + chance.randrange(8)
        rows.append(
            {
                "id": number,
                "item": chance.choice([None, 1, 2, 3, 4]),
                "price": chance.choice([None, *(n / 2 for n in range(20))]),
                "who": chance.choice([None, *WORDS]),
                "ts": datetime(2024, 1, 1, 0, second // 60, second % 60),
            }
        )
    return pa.Table.from_pylist(rows, BIDS)


BIDS = pa.schema(
    [
        ("id", pa.int32()),
        ("item", pa.int32()),
        ("price", pa.float64()),
        ("who", pa.string()),
        ("ts", pa.timestamp("us")),
    ]
)


def write(table: pa.Table, folder: Path, parts: int) -> None:
    """The rows as so many files; Spark reads them in the order of their time stamps."""
    folder.mkdir(exist_ok=True)
    size = -(-table.num_rows // parts)
    for part in range(parts):
        text = table.slice(part * size, size)
        # A quoted empty text is one, and an empty field is NULL.
        file = folder / f"{part:03d}.csv"
        pc_csv.write_csv(text, file, pc_csv.WriteOptions(quoting_style="needed"))
        os.utime(file, (part, part))  # in the order in which Spark reads them


def rules(count: int, seed: int) -> pa.Table:
    """Arguments of registrations; some are NULL."""
    chance = random.Random(seed)
    return pa.table(
        {
            "item": pa.array([chance.choice([None, 1, 2, 3, 9]) for _ in range(count)], pa.int32()),
            "low": pa.array([chance.choice([None, *range(10)]) for _ in range(count)], pa.float64()),
            "high": pa.array([chance.choice([None, *range(10)]) for _ in range(count)], pa.float64()),
            "name": pa.array([chance.choice([None, *WORDS[:4]]) for _ in range(count)], pa.string()),
            "code": pa.array([chance.choice([97, 98, 122]) for _ in range(count)], pa.int32()),
        }
    )


def wanted(query: str, tuples: pa.Table, registered: pa.Table) -> list[tuple[Any, ...]]:
    """What DuckDB gives for the join."""
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.register("bid", tuples)
        database.register("rule", registered)
        return sorted(database.execute(query).fetchall(), key=repr)


def given(table: pa.Table) -> list[tuple[Any, ...]]:
    rows = (tuple(row.values()) for row in table.to_pylist())
    plain = (tuple(v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in row) for row in rows)
    return sorted(plain, key=repr)


TEMPLATES = {
    "alert (item INT, low DOUBLE)": (
        "SELECT id, alert.low FROM bid WHERE bid.item = alert.item AND price > low AND who <> 'zoe'",
        "SELECT h, id, low FROM bid JOIN rule ON bid.item = rule.item AND price > low AND who <> 'zoe'",
    ),
    "band (low DOUBLE, high DOUBLE, name STRING)": (
        "SELECT id FROM bid WHERE price BETWEEN low AND high AND who LIKE name || '%'",
        "SELECT h, id FROM bid JOIN rule ON price BETWEEN low AND high AND starts_with(who, name)",
    ),
    "odd (item INT, name STRING, code INT)": (  # Spark computes one term, and checks another
        "SELECT id FROM bid WHERE ascii(who) = code AND levenshtein(who, name) < 2 AND bid.item <> odd.item",
        "SELECT h, id FROM bid JOIN rule ON bid.item <> rule.item AND levenshtein(who, name) < 2 AND ascii(who) = code",
    ),
    "busy (item INT, low DOUBLE)": (
        "SELECT count(*) [RANGE 10 SECONDS, SLIDE 5 SECONDS, WA ts] AS n, max(price) AS top, low, window_end FROM bid"
        " WHERE bid.item = busy.item HAVING count(*) >= low",
        "SELECT h, count(*) AS n, max(price), low, w + INTERVAL 10 SECONDS FROM bid JOIN rule ON bid.item = rule.item,"
        " LATERAL (SELECT unnest([time_bucket(INTERVAL 5 SECONDS, ts), time_bucket(INTERVAL 5 SECONDS, ts)"
        " - INTERVAL 5 SECONDS]) AS w) GROUP BY h, low, w HAVING count(*) >= low",
    ),
    "totals (item INT)": (
        "SELECT id, sum(id) OVER (PARTITION BY who RANGE 20 SECONDS PRECEDING) AS total FROM bid"
        " WHERE bid.item = totals.item",
        "SELECT h, id, sum(id) OVER (PARTITION BY h, who ORDER BY ts RANGE INTERVAL 20 SECONDS PRECEDING)"
        " FROM bid JOIN rule ON bid.item = rule.item",
    ),
}


@pytest.fixture(scope="module")
def answered(spark: object, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, Any]]:
    """What each template gives and what DuckDB does, all in one run over files in several batches."""
    base = tmp_path_factory.mktemp("templates")
    tuples = bids(240, 7)
    write(tuples, base / "in", 2)
    found = {}
    with connect(base=base, once=True, master="local[2]") as mill:
        mill.execute(f"SET buckets = 1; {BID} SOURCE 'csv:in' OPTIONS (max_files_per_batch = 1);")
        for number, (name, (select, _)) in enumerate(TEMPLATES.items()):
            mill.execute(f"CREATE QUERY {name} AS {select};")
            template = mill.engine.templates.named(name.split()[0])
            registered = rules(25, number)
            handles = [f"{template.query.name}_{i}" for i in range(25)]
            mill.register(template.query.name, registered.select(list(template.parameters.names)), handles)
        mill.wait()
        for number, (name, (_, oracle)) in enumerate(TEMPLATES.items()):
            word = name.split()[0]
            registered = rules(25, number).append_column("h", pa.array([f"{word}_{i}" for i in range(25)]))
            rows = mill.query(word).to_arrow()
            found[word] = given(rows), wanted(oracle, tuples, registered)
            handle = rows["registration"][0].as_py()
            own = [row[1:] for row in found[word][0] if row[0] == handle]
            assert sorted(own, key=repr) == given(mill.registration(handle).invoke())
    return found


@pytest.mark.parametrize("name", [name.split()[0] for name in TEMPLATES])
def test_a_template_is_a_join_with_its_registrations(name: str, answered: dict[str, tuple[Any, Any]]) -> None:
    got, right = answered[name]
    assert got == right
    assert len(got) > 5


def test_registrations_come_and_go_while_the_query_runs(spark: object, tmp_path: Path) -> None:
    """What is registered sees what comes after it; a client that was away gets what it missed, also after a restart."""
    script = f"""{BID} SOURCE 'csv:in';
        CREATE QUERY alert (item INT) AS SELECT id, ts FROM bid WHERE bid.item = alert.item;"""
    (tmp_path / "in").mkdir()
    numbers = iter(range(1000))

    def come(mill: Mill, item: int) -> int:
        """One more bid, and what has come of it."""
        number = next(numbers)
        rows = [{"id": number, "item": item, "price": 1.0, "who": "x", "ts": datetime(2024, 1, 1, 0, 0, number)}]
        new = tmp_path / f"{number}.csv"
        pc_csv.write_csv(pa.Table.from_pylist(rows, BIDS), new)
        new.rename(tmp_path / "in" / new.name)
        mill.query("alert").process_available()
        return number

    def ids(table: pa.Table) -> list[int]:
        return list(table["id"].to_pylist())

    with connect(tmp_path / "home", base=tmp_path, master="local[2]") as mill:
        mill.execute(script)
        come(mill, 7)
        mill.execute("REGISTER alert (7) AS seven; REGISTER alert VALUES (8), (8) AS eight")
        first = come(mill, 7)
        assert ids(mill.registration("seven").invoke()) == [first]
        second = come(mill, 8)
        assert [ids(mill.registration(h).invoke("last")) for h in ("eight", "alert_2")] == [[second], [second]]
        assert ids(mill.registration("seven").invoke("last")) == [first]
        mill.execute("UNREGISTER alert_2")
        third, fourth = come(mill, 7), come(mill, 8)
        assert ids(mill.registration("eight").invoke()) == [second, fourth]
        with pytest.raises(RunError, match="no registration 'alert_2'"):
            mill.execute("INVOKE alert_2")
        with pytest.raises(RunError, match="already a registration 'Seven'"):
            mill.execute("REGISTER alert (9) AS Seven")
        assert sorted(mill.query("alert").to_arrow()["registration"].to_pylist()) == [
            "alert_2",
            *["eight"] * 2,
            *["seven"] * 2,
        ]

    with connect(tmp_path / "home", base=tmp_path, master="local[2]") as mill:
        mill.execute(script)
        assert [row["handle"] for row in mill.execute("SHOW REGISTRATIONS")[0].table.to_pylist()] == ["seven", "eight"]
        assert ids(mill.registration("seven").invoke("last")) == [third], "what it missed"
        mill.execute("REGISTER alert (7) AS again")
        fifth = come(mill, 7)
        assert ids(mill.registration("seven").invoke("last")) == [fifth]
        assert ids(mill.registration("again").invoke()) == [fifth]
        since = mill.registration("seven").invoke(datetime(2024, 1, 1, 0, 0, third, tzinfo=UTC))
        assert ids(since) == [third, fifth]
        batches = mill.registration("seven").subscribe(timeout=0.1)
        assert [n for batch in batches for n in ids(batch)] == [first, third, fifth]

    other = script.replace("alert (item INT)", "alert (item BIGINT)")
    with connect(tmp_path / "home", base=tmp_path, master="local[2]") as mill:
        with pytest.raises(RunError, match="other parameters: item int32"):
            mill.execute(other)
        assert mill.queries == ()


def test_a_batch_that_comes_again_meets_the_same_registrations(spark: object, tmp_path: Path) -> None:
    """After a crash the last batch is done again: those who have registered since are no part of it."""
    script = f"""{BID} SOURCE 'csv:in';
        CREATE QUERY alert (item INT) AS SELECT id FROM bid WHERE bid.item = alert.item;"""
    write(bids(40, 1), tmp_path / "in", 1)
    with connect(tmp_path / "home", base=tmp_path, once=True, master="local[2]") as mill:
        mill.execute(script + "REGISTER alert (1) AS one;")
        mill.wait()
        before = mill.registration("one").invoke()
        mill.execute("REGISTER alert (1) AS late")
    commits = tmp_path / "home" / "queries" / "alert" / "checkpoint" / "commits"
    newest = max(commits.glob("[0-9]*"), key=lambda file: int(file.name))
    newest.unlink()
    for crc in commits.glob(f".{newest.name}.*"):
        crc.unlink()
    with connect(tmp_path / "home", base=tmp_path, once=True, master="local[2]") as mill:
        mill.execute(script)
        mill.wait()
        assert mill.query("alert").to_arrow().num_rows == before.num_rows, "the batch was done again"
        assert given(mill.registration("one").invoke()) == given(before)
        assert mill.registration("late").invoke().num_rows == 0
        assert before.num_rows > 0


def test_registrations_from_a_table(run: Callable[[str], Mill], tmp_path: Path) -> None:
    (tmp_path / "rules.csv").write_text("item,low,name\n1,2,a\n2,0.5,b\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("item,price\n1,3\n2,0\n2,1\n")
    mill = run("""
        CREATE STREAM bid (item INT, price DOUBLE) SOURCE 'csv:in';
        CREATE TABLE rule (item INT, low DOUBLE, name STRING) SOURCE 'csv:rules.csv';
        CREATE QUERY alert (item INT, low DOUBLE) AS SELECT price FROM bid WHERE bid.item = alert.item AND price > low;
        REGISTER alert SELECT item, low, name AS handle FROM rule;
    """)
    assert given(mill.query("alert").to_arrow()) == [("a", 3.0), ("b", 1.0)]
    with pytest.raises(RunError, match="have no time stamp"):
        mill.execute("INVOKE a SINCE TIMESTAMP '2024-01-01'")
