"""Every file that appears is read exactly once, whatever its name, its age, and the folder it lies in."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from millstream.connectors.files.file_lists import RAW
from millstream.connectors.places.aliases import file_alias, folder_alias, is_special, real_path
from millstream.connectors.places.paths import escape_pattern, is_pattern, local_files, places
from millstream.errors import RunError
from millstream.mill import Mill, connect
from millstream.spark.process.local_files import IMPLEMENTATION

NAMES = (
    "x[1]", "x1", "x[", "x]", "a?b", "acb", "{a,b}", "{", "*", "s p", " lead", "p%20c", "p%", "10:30:00", ":", "ünï",
    "日本", "😀", "back\\slash", "plus+", "hash#1", "am&p;", "quo'te\"", "new\nline", "tab\t", "^caret$", "-dash",
    "~", "a,b",
)  # fmt: skip

FOLDERS = (
    "in[1]",
    "in1",
    "i?",
    "{i,n}",
    "*",
    "s p%20",
    "co:lon",
    "_under",
    ".dot",
    "ünï#",
    "back\\slash",
    "[",
    "d=7",
    "[:]",
)
BEGIN = 1_700_000_000


def write(file: Path, number: int, age: float = 0) -> None:
    """A file with one row, in the format of its ending."""
    file.parent.mkdir(parents=True, exist_ok=True)
    hidden = file.with_name(f".{number}")
    if file.suffix == ".csv":
        hidden.write_text(f"id\n{number}\n")
    elif file.suffix == ".json":
        hidden.write_text(json.dumps({"id": number}) + "\n")
    else:
        stamp = pa.array([datetime.fromtimestamp(BEGIN + number, UTC)], pa.timestamp("us", "UTC"))
        pq.write_table(pa.table({"id": pa.array([number], pa.int32()), "ts": stamp}), hidden)
    os.utime(hidden, (BEGIN - age, BEGIN - age))
    hidden.rename(file)


def ids(mill: Mill, query: str) -> list[int]:
    return sorted(mill.query(query).to_arrow()["id"].to_pylist())


# -- what a path means ---------------------------------------------------------------------------------------


def test_a_path_that_exists_is_that_path(tmp_path: Path) -> None:
    for name in ("a[1].csv", "a1.csv", "b1.csv", "x y/c[2]/d.csv", "x y/c2/e.csv"):
        write(tmp_path / name, 1)
    top = str(tmp_path)
    assert [is_pattern(f"{top}/{p}") for p in ("a[1].csv", "b[1].csv", "x y/c[2]", "x y/c[2]/*.csv", "none")] == [
        False, True, False, True, False,
    ]  # fmt: skip
    assert places(f"{top}/a[1].csv") == [tmp_path / "a[1].csv"]
    assert places(f"{top}/b[1].csv") == [tmp_path / "b1.csv"]
    assert local_files(f"file:{top}/x y/c[2]/*.csv") == [tmp_path / "x y" / "c[2]" / "d.csv"]
    assert folder_alias(top) == top
    assert real_path(f"{folder_alias(f'{top}/a[1]')}/b") == f"{top}/a[1]/b"
    assert [real_path(str(f)) for f in Path(file_alias(f"{top}/a[1].csv")).iterdir()] == [f"{top}/a[1].csv"]
    assert escape_pattern(f"{top}/x y/c[2]/*.csv") == f"{top}/x y/c\\[2\\]/*.csv"


# -- files that are there ------------------------------------------------------------------------------------


@pytest.mark.spark
def test_files_of_any_name_and_age_in_a_folder(run: Callable[[str], Mill], tmp_path: Path) -> None:
    for number, name in enumerate(NAMES):
        for kind in ("csv", "json", "parquet"):
            # Every third one is older by years, the others have the same time stamp.
            write(tmp_path / f"{kind}[1]" / f"{name}.{kind}", number, age=number % 3 // 2 * 9e8)
    for kind in ("csv", "json", "parquet"):
        write(tmp_path / f"{kind}1" / f"other.{kind}", 1000)
    one = "OPTIONS (max_files_per_batch = 11)"
    mill = run(f"""
        CREATE STREAM c (id INT) SOURCE 'csv:csv[1]' {one}; CREATE QUERY csv AS SELECT id FROM c;
        CREATE STREAM j (id INT) SOURCE 'json:json[1]/*.js*' {one}; CREATE QUERY json AS SELECT id FROM j;
        CREATE STREAM p (id INT, ts TIMESTAMP) ORDER BY ts SOURCE 'parquet:parquet[1]' {one};
        CREATE QUERY parquet AS SELECT id FROM p;
        CREATE QUERY direct AS SELECT id, count(*) [RANGE 1 DAY] AS n FROM p GROUP BY id;
        CREATE TABLE stored (id INT) SOURCE 'csv:csv[1]';
        CREATE QUERY joined AS SELECT p.id FROM p JOIN stored ON p.id = stored.id;
        SET reader = 'spark';
        CREATE QUERY stage AS SELECT id, count(*) [RANGE 1 DAY] AS n FROM p GROUP BY id;
    """)
    expected = list(range(len(NAMES)))
    for query in ("csv", "json", "parquet", "direct", "stage", "joined"):
        assert ids(mill, query) == expected, query


@pytest.mark.spark
def test_a_bad_file_of_any_name_is_rejected(run: Callable[[str], Mill], tmp_path: Path) -> None:
    names = [name for name in NAMES if is_special(name)]
    for number, name in enumerate(names):
        write(tmp_path / "csv" / f"{name}.csv", number)
        write(tmp_path / "parquet" / f"{name}.parquet", number)
    (tmp_path / "csv" / "{bad}.csv").write_text("other\n1\n")
    (tmp_path / "parquet" / "[bad].parquet").write_text("none")
    mill = run("""
        CREATE STREAM c (id INT) SOURCE 'csv:csv' ON BAD FILE REJECT; CREATE QUERY csv AS SELECT id FROM c;
        CREATE QUERY bad_csv AS SELECT origin FROM c.REJECTED;
        CREATE STREAM p (id INT) SOURCE 'parquet:parquet' ON BAD FILE REJECT; CREATE QUERY parquet AS SELECT id FROM p;
        CREATE QUERY bad_parquet AS SELECT origin FROM p.REJECTED;
    """)
    for kind in ("csv", "parquet"):
        assert ids(mill, kind) == list(range(len(names))), kind
    bad = [mill.query(f"bad_{kind}").to_arrow()["origin"].to_pylist() for kind in ("csv", "parquet")]
    assert [[Path(unquote(file)).name for file in files] for files in bad] == [["{bad}.csv"], ["[bad].parquet"]]


@pytest.fixture
def without_class(spark: SparkSession, mill: Mill) -> Iterator[None]:
    """A mill whose Spark has Hadoop's own file system."""
    assert mill.spark is spark
    before = spark.conf.get(IMPLEMENTATION, None)
    spark.conf.set(IMPLEMENTATION, RAW)
    yield
    if before is not None:
        spark.conf.set(IMPLEMENTATION, before)


@pytest.mark.spark
def test_names_that_are_patterns_are_refused_without_our_class(without_class: None, mill: Mill, tmp_path: Path) -> None:
    write(tmp_path / "in" / "x[1].csv", 1)
    write(tmp_path / "in" / "x1.csv", 2)
    mill.execute("CREATE STREAM s (id INT) SOURCE 'csv:in'; CREATE QUERY q AS SELECT id FROM s")
    with pytest.raises(
        RunError, match=r"/in/x\[1\]\.csv cannot be read beside others: Spark takes its name for a pattern"
    ):
        mill.wait()
    assert ids(mill, "q") == []


@pytest.mark.spark
def test_files_and_folders_that_are_named(run: Callable[[str], Mill], tmp_path: Path) -> None:
    # Many streams in one query: each would cost as much as a query alone.
    def named(place: str) -> str:
        return place.replace("\\", "\\\\").replace("'", "''")

    singles = [n for n in NAMES if n not in (" lead", "new\nline", "tab\t")]
    for number, name in enumerate(singles):
        write(tmp_path / "single" / f"{name}.csv", number)
    for number, name in enumerate(FOLDERS, len(singles)):
        write(tmp_path / "all" / name / "f.csv", number)
    places_ = [f"single/{n}.csv" for n in singles] + [f"all/{n}" for n in FOLDERS]
    streams = "".join(f"CREATE STREAM s{i} (id INT) SOURCE 'csv:{named(p)}'; " for i, p in enumerate(places_))
    tables = "".join(f"CREATE TABLE t{i} (id INT) SOURCE 'csv:{named(p)}'; " for i, p in enumerate(places_))
    every = " UNION ALL ".join(f"SELECT id FROM s{i}" for i in range(len(places_)))
    mill = run(f"{streams} {tables} CREATE QUERY q AS {every};")
    assert ids(mill, "q") == list(range(len(places_)))
    stored = " UNION ALL ".join(f"SELECT id FROM t{i}" for i in range(len(places_)))
    (answer,) = mill.execute(stored)
    assert answer.table is not None
    assert sorted(answer.table["id"].to_pylist()) == list(range(len(places_)))


@pytest.mark.spark
def test_what_cannot_be_read_is_said(mill: Mill, tmp_path: Path) -> None:
    write(tmp_path / "_a.csv", 1)
    mill.execute("CREATE STREAM a (id INT) SOURCE 'csv:_a.csv'")
    with pytest.raises(RunError, match=r"stream a reads csv:_a\.csv, and readers pass over files whose names begin"):
        mill.execute("CREATE QUERY q AS SELECT id FROM a")


@pytest.mark.spark
def test_a_home_and_a_script_in_a_folder_of_any_name(spark: object, tmp_path: Path) -> None:
    base = tmp_path / "a[1] %20ü"
    for number in range(3):
        write(base / "in" / f"{number}.parquet", number)
    with connect(base / "home{x}", base=base, once=True, master="local[2]") as mill:
        mill.execute("""
            CREATE STREAM s (id INT, ts TIMESTAMP) ORDER BY ts SOURCE 'parquet:in';
            CREATE SINK file TO 'csv:out[1].csv'; CREATE SINK folder TO 'json:out{1}*';
            INSERT INTO file SELECT sum(id) [RANGE 1 DAY] AS id FROM s;
            INSERT INTO folder SELECT id FROM s;
        """)
        mill.wait()
        mill.execute("CREATE TABLE new (id INT) SOURCE 'json:out{1}*'; CREATE TABLE kept AS SELECT id FROM new;")
        (answer,) = mill.execute("SELECT id FROM kept ORDER BY id")
    assert (base / "out[1].csv").read_text() == "id\n3\n"
    assert answer.table is not None
    assert answer.table["id"].to_pylist() == [0, 1, 2]


# -- files that appear ---------------------------------------------------------------------------------------


@pytest.mark.spark
def test_files_that_appear_are_read_once_whatever_their_age(live_mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    live_mill.execute("""
        CREATE STREAM s (id INT, ts TIMESTAMP) ORDER BY ts SLACK 1 DAY SOURCE 'parquet:in';
        CREATE QUERY spark AS SELECT id FROM s;
        CREATE QUERY direct AS SELECT id, count(*) [RANGE 1 DAY] AS n FROM s GROUP BY id EMIT ON CHANGE;
    """)
    queries = [live_mill.query(name) for name in ("spark", "direct")]
    # The newest first, then ever older ones, then one that has been there before under another name.
    for number, age in enumerate([-9e8, 0, 6.9 * 86400, 9e8, BEGIN]):
        write(tmp_path / "in" / f"{number}.parquet", number, age)
        for query in queries:
            query.process_available()
    os.link(tmp_path / "in" / "0.parquet", tmp_path / "in" / "again.parquet")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(query.counts.rows_in < 6 for query in queries):
        time.sleep(0.05)
    assert ids(live_mill, "spark") == [0, 0, 1, 2, 3, 4]
    assert set(ids(live_mill, "direct")) == {0, 1, 2, 3, 4}
    assert [query.counts.rows_in for query in queries] == [6, 6]
