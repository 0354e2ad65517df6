"""Sinks with OPTIONS (partition_by = ...): folders named after values, and each row once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from millstream.catalog.options import read_options
from millstream.connectors.files.folder import FolderSink
from millstream.connectors.places.query_place import QueryPlace
from millstream.connectors.shared_options import FOLDER
from millstream.errors import MillstreamError, RunError
from millstream.mill import Mill, connect

pytestmark = pytest.mark.spark

STREAM = "CREATE STREAM s (id INT, at STRING) SOURCE 'json:in';"
PARTED = "OPTIONS (partition_by = 'at')"


@pytest.fixture(autouse=True)
def rows(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    add(tmp_path, "a", {1: "12:05", 2: "12:06", 3: "12:05", 4: None})


def add(folder: Path, name: str, made: dict[int, str | None]) -> None:
    lines = [json.dumps({"id": id_, "at": at}) + "\n" for id_, at in made.items()]
    (folder / "in" / f"{name}.json").write_text("".join(lines))


def lying(folder: Path) -> list[tuple[str, int]]:
    """The rows of JSON files below a folder: where each lies, and its number."""
    return sorted(
        (str(file.parent.relative_to(folder)), json.loads(line)["id"])
        for file in folder.rglob("*.json")
        for line in file.read_text().splitlines()
    )


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_others_read_the_values_back(run: Callable[[str], Mill], tmp_path: Path, kind: str) -> None:
    run(f"""{STREAM} CREATE SINK o TO '{kind}:out' OPTIONS (partition_by = 'AT, odd');
        INSERT INTO o SELECT id, at, id % 2 AS odd FROM s;""")
    reader = {"csv": "read_csv_auto", "json": "read_json_auto", "parquet": "read_parquet"}[kind]
    with duckdb.connect() as db:
        found = db.execute(f"""SELECT id, "at", odd FROM
            {reader}('{tmp_path}/out/**/*.{kind}', hive_partitioning=true, hive_types_autocast=false)""").fetchall()
    assert sorted(found) == [(1, "12:05", "1"), (2, "12:06", "0"), (3, "12:05", "1"), (4, None, "0")]
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name.startswith(".")] == []


@pytest.mark.usefixtures("spark")
def test_batches_share_folders(tmp_path: Path) -> None:
    text = f"{STREAM} CREATE SINK o TO 'json:out' {PARTED}; INSERT INTO o SELECT * FROM s WHERE id < 10;"
    for name, made in {"b": {5: "12:05"}, "c": {11: "12:07"}}.items():
        with connect(tmp_path / "ck", base=tmp_path, once=True) as mill:
            mill.execute(text)
            mill.wait()
        add(tmp_path, name, dict(made))
    with connect(tmp_path / "ck", base=tmp_path, once=True) as mill:
        mill.execute(text)
        mill.wait()
    nothing = "at=__HIVE_DEFAULT_PARTITION__"
    assert lying(tmp_path / "out") == [*[("at=12%3A05", n) for n in (1, 3, 5)], ("at=12%3A06", 2), (nothing, 4)]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("mode", "times"), [("append", 2), ("overwrite", 1)])
def test_a_new_query_appends_or_overwrites(tmp_path: Path, mode: str, times: int) -> None:
    (tmp_path / "out" / "mine=1").mkdir(parents=True)
    (tmp_path / "out" / "mine=1" / "kept.json").write_text('{"id": 99}\n')
    for _ in range(2):
        with connect(base=tmp_path, once=True) as mill:
            mill.execute(f"""{STREAM} CREATE SINK o TO 'json:out' OPTIONS (partition_by = 'at', mode = '{mode}');
                INSERT INTO o SELECT * FROM s;""")
            mill.wait()
    assert sorted(id_ for _, id_ in lying(tmp_path / "out")) == sorted([1, 2, 3, 4] * times + [99])


@pytest.mark.parametrize("earlier", [("at",), (), ("odd", "at")])
def test_a_batch_that_comes_again_replaces_its_files(spark: Any, tmp_path: Path, earlier: tuple[str, ...]) -> None:
    frame = spark.sql("SELECT id AS id, id % 2 AS odd, id % 3 AS at FROM range(9)")
    place = QueryPlace(tmp_path / "query", "mark", fresh=False)
    place.folder.mkdir()
    options = read_options({}, FOLDER, "json")
    for batch, columns in ((0, earlier), (1, earlier), (1, ("at",)), (2, ("at",))):
        sink = FolderSink(spark, str(tmp_path / "out"), "json", {**options, "partition_by": columns}, place)
        assert sink.write(sink.prepare(frame), batch) == 9
    assert sorted(id_ for _, id_ in lying(tmp_path / "out")) == sorted([*range(9)] * 3)


@pytest.mark.parametrize(
    ("address", "columns", "message"),
    [
        ("csv:out", "att", r"partition_by: the query has no column 'att'\nhelp: did you mean 'at'\?"),
        ("csv:out", "at, id, _x", r"partition_by: readers pass over folders such as '_x=1'\nhelp: rename it with AS"),
        ("csv:out.csv", "at", r"partition_by: .*out\.csv is a single file\nhelp: use a folder"),
        ("csv:out", "at, AT", r"option partition_by cannot be 'at, AT'(.|\n)*help: write names of columns"),
        ("csv:out", "", r"option partition_by cannot be ''"),
        ("noop:", "at", r"'noop:' has no option 'partition_by'"),
    ],
)
def test_what_cannot_be_parted(mill: Mill, address: str, columns: str, message: str) -> None:
    with pytest.raises(MillstreamError, match=message):
        mill.execute(f"""{STREAM} CREATE SINK o TO '{address}' OPTIONS (partition_by = '{columns}');
            INSERT INTO o SELECT id, at, 1 AS x, 2 AS _x FROM s;""")


def test_a_column_must_be_left(mill: Mill) -> None:
    with pytest.raises(RunError, match=r"partition_by: no column is left for the files"):
        mill.execute(f"{STREAM} CREATE SINK o TO 'csv:out' {PARTED}; INSERT INTO o SELECT at FROM s;")
