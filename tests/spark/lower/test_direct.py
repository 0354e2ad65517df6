"""Direct reading: the rows that Spark's own reader gives, and who reads."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.connectors.files.arrow_ingress import read
from millstream.errors import RunError
from millstream.mill import Mill, connect
from millstream.mill.engine.running import RunningQuery
from millstream.plan.algebra import Node
from millstream.plan.column_origins import steps
from millstream.plan.physical import physical
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.nodes import ArrowRead, Exchange

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("i", pa.int32()), ("l", pa.int64()), ("d", pa.float64())]
)
COLUMNS = "ts TIMESTAMP, k STRING, i INT, l BIGINT, d DOUBLE"
STREAM = "CREATE STREAM {name} (" + COLUMNS + ") ORDER BY ts SLACK 5 SECONDS SOURCE '{kind}:{name}' "
ONE_FILE = "OPTIONS (max_files_per_batch = 1);"

READERS = ("auto", "spark")

Answers = Counter[tuple[object, ...]]


def sample(count: int, seed: int) -> pa.Table:
    """Tuples out of order by up to 4 s, with NULL here and there."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        at = number * 150
        row = {
            "ts": BEGIN + timedelta(milliseconds=at),
            "k": chance.choice([None, *"abcde"]),
            "i": chance.choice([None, *range(-5, 50)]),
            "l": chance.choice([None, *range(-5, 50)]),
            "d": chance.choice([None, 0.5, -1.25, 3.0]),
        }
        made.append((at + chance.randint(0, 4000), row))
    return pa.Table.from_pylist([row for _, row in sorted(made, key=lambda pair: pair[0])], SCHEMA)


def write(folder: Path, number: int, rows: pa.Table) -> None:
    """A file; Spark takes them by age."""
    folder.mkdir(parents=True, exist_ok=True)
    hidden = folder / f".{number}"
    pq.write_table(rows, hidden)
    os.utime(hidden, (1e9 + number, 1e9 + number))
    hidden.rename(folder / f"{number}.parquet")


def feed(folder: Path, files: int = 3, count: int = 300, seed: int = 5) -> None:
    rows = sample(count, seed)
    for number in range(files):
        start, stop = number * count // files, (number + 1) * count // files
        write(folder, number, rows.slice(start, stop - start))


def feed_csv(folder: Path, count: int = 200, seed: int = 7) -> None:
    folder.mkdir()
    lines = ["ts,k,i,l,d"]
    for row in sample(count, seed).to_pylist():
        row["ts"] = row["ts"].isoformat()
        lines.append(",".join("" if v is None else str(v) for v in row.values()))
    (folder / "0.csv").write_text("\n".join(lines) + "\n")


@contextmanager
def watched() -> Iterator[list[str | None]]:
    """For each input of the stages that are made meanwhile: the stream that is read directly, or None."""
    seen: list[str | None] = []

    def look(plan: Node, facts: Facts) -> Node:
        found = physical(plan, facts)
        reads = [step.below for step in steps(found) if isinstance(step, Exchange)]
        seen.extend(read.scan.stream.name if isinstance(read, ArrowRead) else None for read in reads)
        return found

    with patch("millstream.mill.engine.planner.physical", look):
        yield seen


def answers(query: RunningQuery) -> Answers:
    return Counter(tuple(row.values()) for row in query.to_arrow().to_pylist())


def both_ways(mill: Mill, queries: dict[str, str], inputs: dict[str, list[str | None]]) -> dict[str, Answers]:
    """What each query gives, the same with both readers; `inputs` says which streams are read directly."""
    found: dict[tuple[str, str], list[str | None]] = {}
    for reader in READERS:
        mill.execute(f"SET reader = '{reader}'")
        for name, text in queries.items():
            with watched() as seen:
                mill.execute(f"CREATE QUERY {name}_{reader} AS {text}")
            found[name, reader] = seen
    mill.wait()
    assert {name: found[name, "auto"] for name in queries} == inputs
    assert all(set(found[name, "spark"]) == {None} for name in queries)
    results = {name: answers(mill.query(f"{name}_auto")) for name in queries}
    assert results == {name: answers(mill.query(f"{name}_spark")) for name in queries}
    types = {reader: [mill.query(f"{n}_{reader}").to_arrow().schema.types for n in queries] for reader in READERS}
    assert types["auto"] == types["spark"]
    counts = {name: [mill.query(f"{name}_{r}").counts for r in READERS] for name in queries}
    assert {name: one.rows_in for name, (one, _) in counts.items()} == {
        name: other.rows_in for name, (_, other) in counts.items()
    }
    assert all(results.values())
    return results


# -- the same answers ----------------------------------------------------------------------------------------


@pytest.mark.spark
def test_what_stages_read_by_themselves_is_what_spark_reads(mill: Mill, tmp_path: Path) -> None:
    feed(tmp_path / "s", files=3)
    feed(tmp_path / "t", files=2, seed=6)
    feed_csv(tmp_path / "c")
    for name, kind in {"s": "parquet", "t": "parquet", "c": "csv"}.items():
        mill.execute(STREAM.format(name=name, kind=kind) + ONE_FILE)
    mill.execute(
        "CREATE STREAM dear AS SELECT ts AS at, upper(k) AS k, i * 2 + l AS v, d / 2 AS half FROM s "
        "WHERE i IS NULL OR i > 3 AND k <> 'e'"
    )
    queries = {
        "sliding": "SELECT k, window_end, count(*) [RANGE 10 SECONDS, SLIDE 3 SECONDS, WA at] AS n, sum(v) AS total, "
        "max(half) AS high, avg(pmod(v, 7)) AS mean, count(v) FILTER (WHERE half > 0) AS positive FROM dear GROUP BY k",
        "over": "SELECT k, ts, sum(i) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL 5 SECONDS PRECEDING "
        "AND CURRENT ROW) AS total FROM s WHERE l % 3 = 0",
        "session": "SELECT k, window_start, window_end, count(*) AS n FROM SESSION(TABLE s PARTITION BY k, "
        "DESCRIPTOR(ts), INTERVAL '800' MILLISECOND) GROUP BY k, window_start, window_end",
        "joined": "SELECT s.k, s.ts, t.l FROM s [RANGE 2 SECONDS], t [RANGE 1 SECOND] "
        "WHERE s.k = t.k AND s.i + 1 > t.i",
        "mixed": "SELECT k, window_end, sum(i) [RANGE 10 SECONDS, WA ts] AS total FROM "
        "(SELECT ts, k, i FROM s UNION ALL SELECT ts, k, i + 1 AS i FROM c WHERE i > 0) GROUP BY k",
    }
    inputs: dict[str, list[str | None]] = {name: ["s"] for name in queries}
    found = both_ways(mill, queries, {**inputs, "joined": ["s", "t"], "mixed": ["s", None]})
    assert min(map(len, found.values())) > 20
    assert mill.query("sliding_auto").counts.batches >= 3
    assert mill.query("mixed_auto").counts.rows_in == 300 + 200


@pytest.mark.spark
def test_tables_on_the_way(mill: Mill, tmp_path: Path) -> None:
    feed(tmp_path / "s", files=2)
    mill.execute(STREAM.format(name="s", kind="parquet") + ONE_FILE)
    tables = {
        "names": "k STRING, name STRING\na,Anna\nb,Bert\nb,Berta\n,Nobody\nz,Zoe\n",
        "bands": "k STRING, low INT, high BIGINT\na,0,9\na,5,30\nb,-3,4\nc,40,60\nc,,60\n",
        "chosen": "i INT\n1\n2\n2\n3\n30\n31\n32\n33\n34\n\n",
        "none": "k STRING, word STRING\n",
    }
    for name, text in tables.items():
        columns, rows = text.split("\n", 1)
        header = ",".join(column.split()[0] for column in columns.split(", "))
        (tmp_path / f"{name}.csv").write_text(f"{header}\n{rows}")
        mill.execute(f"CREATE TABLE {name} ({columns}) SOURCE 'csv:{name}.csv'")
    queries = {
        "inner_and_semi": "SELECT name, window_end, count(*) [RANGE 10 SECONDS, WA ts] AS n, sum(s.l) AS total "
        "FROM s JOIN names AS n ON s.k = n.k WHERE EXISTS (SELECT 1 FROM chosen AS c WHERE c.i = s.l) AND s.d IS NULL "
        "GROUP BY name",
        "left_and_none": "SELECT s.k, low, window_end, count(*) [RANGE 10 SECONDS, WA ts] AS n, count(word) AS words "
        "FROM s LEFT JOIN bands AS b ON s.k = b.k AND s.i BETWEEN b.low AND b.high LEFT JOIN none AS x ON s.k = x.k "
        "GROUP BY s.k, low",
    }
    found = both_ways(mill, queries, {name: ["s"] for name in queries})
    alone = sum(row[3] for row in found["left_and_none"] if row[1] is None)  # type: ignore[misc]
    assert 100 < alone < 300
    assert {row[4] for row in found["left_and_none"]} == {0}
    assert {row[0] for row in found["inner_and_semi"]} == {"Anna", "Bert", "Berta"}


@pytest.mark.spark
def test_files_of_other_shapes(mill: Mill, tmp_path: Path) -> None:
    stamps = [BEGIN + timedelta(seconds=n) for n in range(4)]
    milliseconds = pa.array(stamps, pa.timestamp("ms", "UTC"))
    write(
        tmp_path / "s", 0, pa.table({"TS": milliseconds, "L": pa.array([1, 2, None, 4], pa.int32()), "more": [0] * 4})
    )
    write(tmp_path / "s", 1, SCHEMA.empty_table())
    write(tmp_path / "s", 2, pa.table({"ts": [stamps[0], None, stamps[1]], "k": pa.nulls(3), "l": [7, 8, 9]}))
    (tmp_path / "s" / "2.parquet").rename(tmp_path / "s" / "two %20 + 2#.parquet")
    write(tmp_path / "s", 3, pa.table({"k": pa.array(["a", "b", "a"]).dictionary_encode()}))
    write(tmp_path / "s", 4, pa.table({"x": [1, 2]}))
    mill.execute(STREAM.format(name="s", kind="parquet") + ONE_FILE)
    text = "SELECT k, count(*) [RANGE 1 MINUTE, WA ts] AS n, sum(l) AS total, count(d) AS known FROM s GROUP BY k"
    with watched() as seen:
        mill.execute(f"CREATE QUERY q AS {text}")
    mill.wait()
    assert seen == ["s"]
    assert answers(mill.query("q")) == Counter({(None, 6, 1 + 2 + 4 + 7 + 9, 0): 1})
    assert mill.query("q").counts.rows_in == 4 + 0 + 3 + 3 + 2


@pytest.mark.spark
def test_a_file_of_the_wrong_type_is_named(mill: Mill, tmp_path: Path) -> None:
    write(tmp_path / "s", 0, pa.table({"ts": pa.array([BEGIN], SCHEMA.field("ts").type), "l": ["seven"]}))
    mill.execute(STREAM.format(name="s", kind="parquet") + ONE_FILE)
    mill.execute("CREATE QUERY q AS SELECT sum(l) [RANGE 1 MINUTE, WA ts] AS total FROM s")
    with pytest.raises(RunError) as failure:
        mill.query("q").wait(60)
    place = tmp_path / "s" / "0.parquet"
    assert f"query q failed: {place}: column l is string, and the stream declares int64" in str(failure.value)
    assert "Traceback" not in str(failure.value)


# -- what only Spark reads -----------------------------------------------------------------------------------


@pytest.mark.spark
def test_what_is_left_to_spark(mill: Mill, tmp_path: Path) -> None:
    stamps = pa.array([BEGIN + timedelta(seconds=n) for n in range(4)], SCHEMA.field("ts").type)
    rows = pa.table({"ts": stamps, "k": ["a1", None, "b2", "mark"], "l": [1, 2, 3, 4]})
    write(tmp_path / "s", 0, rows)
    write(tmp_path / "days" / "day=7", 0, rows)
    write(tmp_path / "days" / "day=8", 0, rows.slice(1))
    write(tmp_path / "deep" / "all" / "day=9", 0, rows)
    parquet = "CREATE STREAM {} (ts TIMESTAMP, k STRING{}, l BIGINT{}) ORDER BY ts {} SOURCE 'parquet:{}';"
    mill.execute(
        parquet.format("s", "", "", "", "s")
        + parquet.format("known", " NOT NULL", "", "", "s")
        + parquet.format("punctuated", "", "", "PUNCTUATED BY (k = 'mark')", "s")
        + parquet.format("days", "", ", day INT", "", "days")
        + parquet.format("deep", "", ", day INT", "", "deep")
    )
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"k": ["a1", "b2"], "inner": [{"n": 10}, {"n": 20}]}), tmp_path / "t" / "0.parquet")
    mill.execute("CREATE TABLE t (k STRING, inner STRUCT<n: BIGINT>) SOURCE 'parquet:t';")
    total = "sum(l) [RANGE 1 MINUTE, WA ts] AS total"
    nested = "sum(t.inner.n) [RANGE 1 MINUTE, WA ts] AS total"
    queries = {
        "nested_table": f"SELECT {nested} FROM s JOIN t ON s.k = t.k",
        "unknown_function": f"SELECT {total} FROM s WHERE regexp_extract(k, '[a-z]([0-9])', 1) = '2'",
        "rows_made": f"SELECT {total} FROM (SELECT ts, l, explode(array(1, 2)) AS n FROM s) AS twice",
        "not_null": f"SELECT {total} FROM known",
        "punctuation": f"SELECT {total} FROM punctuated",
        "parted": f"SELECT day, {total} FROM days GROUP BY day",
        "parted_below": f"SELECT day, {total} FROM deep GROUP BY day",
    }
    with watched() as seen:
        for name, text in queries.items():
            mill.execute(f"CREATE QUERY {name} AS {text}")
    mill.wait()
    assert {name: list(answers(mill.query(name))) for name in queries} == {
        "nested_table": [(30,)],
        "unknown_function": [(3,)],
        "rows_made": [(20,)],
        "not_null": [(8,)],
        "punctuation": [(6,)],
        "parted": [(7, 10), (8, 9)],
        "parted_below": [(9, 10)],
    }
    assert seen == [None] * len(queries)
    assert mill.query("not_null").counts.rejected == {"known": 1}


# -- while time goes by --------------------------------------------------------------------------------------


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, "it did not come"
        time.sleep(0.05)


def at(*seconds: int, k: str) -> pa.Table:
    stamps = pa.array([BEGIN + timedelta(seconds=s) for s in seconds], SCHEMA.field("ts").type)
    return pa.table({"ts": stamps, "k": [k] * len(seconds)})


@pytest.mark.spark
def test_tuples_that_are_left_out_move_time_on(live_mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "names.csv").write_text("k,name\na,Anna\n")
    live_mill.execute("SET heartbeats = 'none';" + STREAM.format(name="s", kind="parquet") + ONE_FILE)
    live_mill.execute("CREATE TABLE names (k STRING, name STRING) SOURCE 'csv:names.csv'")
    count = "CREATE QUERY {} AS SELECT window_end, count(*) [RANGE 10 SECONDS, WA ts] AS n FROM s {}"
    with watched() as seen:
        for reader in ("auto", "spark"):
            live_mill.execute(f"SET reader = '{reader}'")
            live_mill.execute(count.format(f"filtered_{reader}", "WHERE k = 'a'"))
        live_mill.execute("SET reader = 'auto'")
        live_mill.execute(count.format("joined", "JOIN names AS n ON s.k = n.k"))
    assert seen == ["s", None, "s"]
    queries = [live_mill.query(name) for name in ("filtered_auto", "filtered_spark", "joined")]
    write(tmp_path / "s", 0, at(1, 2, 3, k="a"))
    until(lambda: all(q.counts.rows_in == 3 for q in queries))
    assert [q.to_arrow().num_rows for q in queries] == [0, 0, 0]
    write(tmp_path / "s", 1, at(14, 15, k="z"))  # with the slack, that is the end of the window
    until(lambda: all(q.to_arrow().num_rows == 1 for q in queries))
    write(tmp_path / "s", 2, at(4, 11, k="a"))  # one of them is late
    until(lambda: all(q.counts.rows_in == 7 for q in queries))
    write(tmp_path / "s", 3, at(99, k="z"))
    until(lambda: all(q.to_arrow().num_rows == 2 for q in queries))
    expected = Counter({(BEGIN + timedelta(seconds=10), 3): 1, (BEGIN + timedelta(seconds=20), 1): 1})
    assert [answers(q) for q in queries] == [expected] * 3
    assert [q.counts.late for q in queries] == [{"s": 1}] * 3


@pytest.mark.spark
def test_a_table_that_changes_is_seen_from_the_next_batch_on(live_mill: Mill, tmp_path: Path) -> None:
    for name in ("s", "names"):
        (tmp_path / name).mkdir()
    live_mill.execute("SET heartbeats = 'none';" + STREAM.format(name="s", kind="parquet") + ONE_FILE)
    live_mill.execute("CREATE TABLE names (k STRING, name STRING) SOURCE 'csv:names'")
    with watched() as seen:
        live_mill.execute(
            "CREATE QUERY q AS SELECT name, window_end, count(*) [RANGE 10 SECONDS, WA ts] AS n "
            "FROM s LEFT JOIN names AS n ON s.k = n.k GROUP BY name"
        )
    assert seen == ["s"]
    query = live_mill.query("q")
    write(tmp_path / "s", 0, at(1, 2, k="a"))  # nobody has a name yet
    until(lambda: query.counts.rows_in == 2)
    (tmp_path / "names" / "0.csv").write_text("k,name\na,Anna\n")
    time.sleep(1)
    write(tmp_path / "s", 1, at(3, 99, k="a"))
    until(lambda: query.to_arrow().num_rows == 2)
    end = BEGIN + timedelta(seconds=10)
    assert answers(query) == Counter({(None, end, 2): 1, ("Anna", end, 1): 1})


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_another_reader_goes_on_where_the_first_one_was(tmp_path: Path) -> None:
    script = (
        STREAM.format(name="s", kind="parquet")
        + ONE_FILE
        + "CREATE SINK out TO 'csv:out.csv' OPTIONS (header = 'false');"
        + "INSERT INTO out SELECT k, count(*) [RANGE 10 SECONDS, WA ts] AS n FROM s WHERE k < 'm' GROUP BY k;"
    )
    times = [(1, 2), (3, 15), (4, 36)]  # 4 comes when its window has been answered
    for number, reader in enumerate(("auto", "spark", "auto")):
        write(tmp_path / "s", number, at(*times[number], k="a"))
        with connect(tmp_path / "state", base=tmp_path) as mill, watched() as seen:
            mill.execute(f"SET heartbeats = 'none'; SET reader = '{reader}'; {script}")
            assert seen == ["s" if reader == "auto" else None]
            query = mill.query("out")
            until(lambda query=query: query.counts.rows_in == 2)  # type: ignore[misc]
            time.sleep(0.5)
            assert query.counts.rows_in == 2
    assert (tmp_path / "out.csv").read_text().splitlines() == ["a,3", "a,1"]


# -- files alone, without Spark ------------------------------------------------------------------------------

MICROSECONDS = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("stored", "declared"),
    [
        (pa.array([1, None], pa.int8()), pa.int16()),
        (pa.array([1, None], pa.int32()), pa.int64()),
        (pa.array([2**32 - 1], pa.uint32()), pa.int64()),
        (pa.array([-(2**15)], pa.int32()), pa.int16()),
        (pa.array([1, None], pa.int32()), pa.float64()),
        (pa.array([0.5, None], pa.float32()), pa.float64()),
        (pa.array(["a", None], pa.large_string()), pa.string()),
        (pa.array(["a", None]).dictionary_encode(), pa.string()),
        (pa.array([b"a", None]), pa.string()),
        (pa.nulls(2), pa.string()),
        (pa.nulls(2), pa.int64()),
        (pa.array([Decimal("1.25"), None], pa.decimal128(5, 2)), pa.decimal128(10, 2)),
        (pa.array([Decimal("1.25"), None], pa.decimal128(5, 2)), pa.decimal128(20, 4)),
        (pa.array([BEGIN, None], pa.timestamp("ms", "UTC")), MICROSECONDS),
        (pa.array([BEGIN, None], pa.timestamp("ns", "UTC")), MICROSECONDS),
        (pa.array([BEGIN, None], pa.timestamp("us", "Europe/Berlin")), MICROSECONDS),
        (pa.array([BEGIN.replace(tzinfo=None), None], pa.timestamp("us")), MICROSECONDS),
        (pa.array([date(2024, 1, 1), None]), pa.date32()),
    ],
    ids=str,
)
def test_types_that_fit(tmp_path: Path, stored: pa.Array, declared: pa.DataType) -> None:
    pq.write_table(pa.table({"x": stored}), tmp_path / "f")
    found = pa.Table.from_batches(read(f"file:{tmp_path}/f", pa.schema([("X", declared), ("y", pa.string())])))
    assert found.schema.types == [declared, pa.string()]
    plain = [v.decode() if isinstance(v, bytes) else v for v in stored.to_pylist()]
    zoned = [v.replace(tzinfo=UTC) if isinstance(v, datetime) and v.tzinfo is None else v for v in plain]
    assert found.to_pydict() == {"X": zoned, "y": [None] * len(stored)}


@pytest.mark.parametrize(
    ("stored", "declared"),
    [
        (pa.array([1]), pa.int32()),
        (pa.array([1], pa.uint64()), pa.int64()),
        (pa.array([1]), pa.float64()),
        (pa.array([1], pa.int32()), pa.string()),
        (pa.array([0.5]), pa.float32()),
        (pa.array([0.5]), pa.int64()),
        (pa.array(["1"]), pa.int64()),
        (pa.array([b"1"]), pa.int64()),
        (pa.array([True]), pa.int32()),
        (pa.array([Decimal("1.25")], pa.decimal128(10, 2)), pa.decimal128(10, 4)),
        (pa.array([date(2024, 1, 1)]), MICROSECONDS),
        (pa.array([[1]]), pa.int64()),
    ],
    ids=str,
)
def test_types_that_do_not_fit(tmp_path: Path, stored: pa.Array, declared: pa.DataType) -> None:
    pq.write_table(pa.table({"x": stored}), tmp_path / "f")
    with pytest.raises(RunError) as refusal:
        list(read(f"{tmp_path}/f", pa.schema([("x", declared)])))
    kept = pq.read_schema(tmp_path / "f").field("x").type
    told = f"{tmp_path}/f: column x is {kept}, and the stream declares {declared}\nhelp: "
    assert str(refusal.value).startswith(told)


def test_nanoseconds_are_cut_to_microseconds(tmp_path: Path) -> None:
    """Also before 1970, where they would be rounded up if they were just left out."""
    for zone in (None, "UTC", "Europe/Berlin"):
        pq.write_table(pa.table({"x": pa.array([1_999, -1, None], pa.timestamp("ns", zone))}), tmp_path / "f")
        (rows,) = read(f"{tmp_path}/f", pa.schema([("x", MICROSECONDS)]))
        assert rows["x"].cast(pa.int64()).to_pylist() == [1, -1, None]


def test_a_number_that_is_too_great_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": pa.array([70_000], pa.int32())}), tmp_path / "f")
    with pytest.raises(RunError, match=r"/f: column x is not always int16: Integer value 70000 "):
        list(read(f"{tmp_path}/f", pa.schema([("x", pa.int16())])))
