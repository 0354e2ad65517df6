"""Every kind of sink keeps each row once, in a form that other programs read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from millstream.errors import RunError
from millstream.mill import Mill, connect

pytestmark = pytest.mark.spark

STREAM = "CREATE STREAM s (id INT, name STRING, ts TIMESTAMP, tags ARRAY<INT>) SOURCE 'json:in';"


@pytest.fixture
def rows(tmp_path: Path) -> list[dict[str, object]]:
    made: list[dict[str, object]] = [
        {"id": 1, "name": 'say "hi", ann', "ts": "2024-01-01T00:00:00.5", "tags": [1, 2]},
        {"id": 2, "name": None, "ts": None, "tags": None},
        {"id": 3, "name": " two\nlines ", "ts": "2024-01-01T00:00:00", "tags": []},
        {"id": 4, "name": "", "ts": None, "tags": None},
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text("".join(json.dumps(r) + "\n" for r in made))
    return made


@pytest.mark.usefixtures("rows")
def test_csv_is_rfc_4180(run: Callable[[str], Mill], tmp_path: Path) -> None:
    run(f"{STREAM} CREATE SINK o TO 'csv:out/o'; INSERT INTO o SELECT * FROM s;")
    (file,) = (tmp_path / "out" / "o").iterdir()
    assert file.read_text() == (
        "id,name,ts,tags\n"
        '1,"say ""hi"", ann",2024-01-01T00:00:00.5,"[1,2]"\n'
        "2,,,\n"
        '3," two\nlines ",2024-01-01T00:00:00,[]\n'
        '4,"",,\n'
    )


@pytest.mark.usefixtures("rows")
def test_csv_options(run: Callable[[str], Mill], tmp_path: Path) -> None:
    run(rf"""{STREAM}
        CREATE SINK o TO 'csv:out/o.csv' OPTIONS (header = false, delimiter = ';', "null" = '\\N');
        INSERT INTO o SELECT id, ts FROM s;""")
    assert (tmp_path / "out" / "o.csv").read_text().splitlines()[:2] == ["1;2024-01-01T00:00:00.5", "2;\\N"]


def test_json_keeps_nulls_and_nesting(
    run: Callable[[str], Mill], tmp_path: Path, rows: list[dict[str, object]]
) -> None:
    run(f"{STREAM} CREATE SINK o TO 'json:out/o'; INSERT INTO o SELECT * FROM s;")
    (file,) = (tmp_path / "out" / "o").iterdir()
    assert [json.loads(line) for line in file.read_text().splitlines()] == rows


@pytest.mark.usefixtures("rows")
def test_parquet_keeps_types(run: Callable[[str], Mill], tmp_path: Path) -> None:
    run(f"{STREAM} CREATE SINK o TO 'parquet:out/o'; INSERT INTO o SELECT * FROM s;")
    table = pq.read_table(tmp_path / "out" / "o")
    assert table["tags"].to_pylist() == [[1, 2], None, [], None]
    assert str(table.schema.field("ts").type).startswith("timestamp[")


@pytest.mark.usefixtures("rows")
def test_a_result_without_rows_still_has_its_header(run: Callable[[str], Mill], tmp_path: Path) -> None:
    run(f"{STREAM} CREATE SINK o TO 'csv:out/o'; INSERT INTO o SELECT id, name FROM s WHERE id > 99;")
    (file,) = (tmp_path / "out" / "o").iterdir()
    assert file.read_text() == "id,name\n"


@pytest.mark.usefixtures("rows")
def test_two_queries_share_a_folder(run: Callable[[str], Mill], tmp_path: Path) -> None:
    run(f"""{STREAM} CREATE SINK o TO 'csv:out/o.v2';
        INSERT INTO o SELECT id FROM s; INSERT INTO o SELECT id + 100 AS id FROM s;""")
    lines = [line for f in (tmp_path / "out" / "o.v2").iterdir() for line in f.read_text().splitlines()[1:]]
    assert sorted(map(int, lines)) == [1, 2, 3, 4, 101, 102, 103, 104]


@pytest.mark.usefixtures("rows")
def test_a_single_file_takes_one_writer(mill: Mill) -> None:
    with pytest.raises(RunError, match=r"single file out/o\.csv, and query o already writes it\nhelp: use a folder"):
        mill.execute(f"""{STREAM} CREATE SINK o TO 'csv:out/o.csv';
            INSERT INTO o SELECT id FROM s; INSERT INTO o SELECT id FROM s;""")


@pytest.mark.usefixtures("rows", "spark")
@pytest.mark.parametrize("place", ["out/o", "out/o.csv"])
@pytest.mark.parametrize(("mode", "times"), [("append", 2), ("overwrite", 1)])
def test_a_new_query_appends_or_overwrites(tmp_path: Path, place: str, mode: str, times: int) -> None:
    for _ in range(2):
        with connect(base=tmp_path, once=True) as mill:
            mill.execute(f"""{STREAM} CREATE SINK o TO 'csv:{place}' OPTIONS (mode = '{mode}');
                INSERT INTO o SELECT id FROM s;""")
            mill.wait()
    path = tmp_path / place
    files = [path] if path.is_file() else list(path.iterdir())
    lines = [line for f in files for line in f.read_text().splitlines() if line != "id"]
    assert sorted(map(int, lines)) == sorted([1, 2, 3, 4] * times)


@pytest.mark.usefixtures("rows", "spark")
def test_a_checkpoint_carries_on_where_it_stopped(tmp_path: Path) -> None:
    text = f"{STREAM} CREATE SINK o TO 'csv:out/o'; INSERT INTO o SELECT id FROM s;"
    for number in range(3):
        (tmp_path / "in" / f"b{number}.json").write_text(json.dumps({"id": 10 + number}) + "\n")
        with connect(tmp_path / "ck", base=tmp_path, once=True) as mill:
            mill.execute(text)
            mill.wait()
    lines = [line for f in (tmp_path / "out" / "o").iterdir() for line in f.read_text().splitlines()[1:]]
    assert sorted(map(int, lines)) == [1, 2, 3, 4, 10, 11, 12]


@pytest.mark.usefixtures("rows")
def test_console_shows_and_noop_discards(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    mill.execute(f"{STREAM} CREATE SINK n TO 'noop:'; INSERT INTO n SELECT * FROM s;")
    mill.execute("INSERT INTO stdout SELECT id FROM s WHERE id < 3;")
    mill.wait()
    assert "id\n1\n2\n" in capsys.readouterr().out
    assert mill.query("n").counts.rows_in == 4
