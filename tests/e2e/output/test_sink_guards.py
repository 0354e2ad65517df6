"""A file or a folder that is not as a query left it stops the query: nothing is padded, mixed or lost in silence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.errors import RunError
from millstream.mill import Mill, connect

pytestmark = pytest.mark.spark

STREAM = "CREATE STREAM s (id INT, name STRING) SOURCE 'json:in';"
FILE = f"{STREAM} CREATE SINK o TO 'csv:out/o.csv'; INSERT INTO o SELECT id FROM s;"
FOLDER = f"{STREAM} CREATE SINK o TO 'json:out/o'; INSERT INTO o SELECT id FROM s;"


def add(folder: Path, *ids: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{ids[0]}.json").write_text("".join(f'{{"id": {id_}}}\n' for id_ in ids))


def go(folder: Path, text: str, place: str = "ck") -> None:
    with connect(folder / place, base=folder, once=True) as mill:
        mill.execute(text)
        mill.wait()


def rewrite(file: Path) -> None:
    with file.open("r+") as out:  # the same inode and length
        out.write("xx")


HARMS: dict[str, tuple[Callable[[Path], object], str]] = {
    "removed": (lambda file: file.unlink(), "o.csv is gone, and with it what the query has written"),
    "rotated": (lambda file: file.rename(f"{file}.1"), "o.csv is gone"),
    "replaced": (
        lambda file: (file.rename(f"{file}.2"), shutil.copy(f"{file}.2", file)),
        "is not the file that the query has written: it was replaced or rewritten",
    ),
    "cut off": (lambda file: os.truncate(file, 3), "has 3 bytes, and 7 were written to it: somebody else has cut it"),
    "emptied": (lambda file: os.truncate(file, 0), "has 0 bytes, and 7 were written to it"),
    "rewritten": (rewrite, "it was replaced or rewritten"),
    "added to": (
        lambda file: file.write_text("id\n1\n2\n3\n"),
        "and only 7 were written to it: somebody else has added",
    ),
}
CHANGES = {
    "SELECT id + 1 AS more FROM s": "has the columns id, and the query would now write more",
    "SELECT id, name FROM s": "has the columns id, and the query would now write id, name",
}


@pytest.mark.usefixtures("spark")
def test_a_file_that_is_not_as_it_was_left_is_left_alone(tmp_path: Path) -> None:
    add(tmp_path, 1, 2)
    go(tmp_path, FILE)
    file, kept = tmp_path / "out" / "o.csv", tmp_path / "kept"
    assert file.read_bytes() == b"id\n1\n2\n"
    add(tmp_path, 3)
    for harm, (do, says) in HARMS.items():
        os.link(file, kept)  # the inode stays what it is
        do(file)
        found = file.read_bytes() if file.exists() else None
        with pytest.raises(RunError) as caught:
            go(tmp_path, FILE)
        assert says in str(caught.value), harm
        assert "sink.json to go on at the end of what is there now" in str(caught.value), harm
        assert (file.read_bytes() if file.exists() else None) == found, harm
        kept.write_bytes(b"id\n1\n2\n")
        file.unlink(missing_ok=True)
        kept.rename(file)
    for select, says in CHANGES.items():
        with pytest.raises(RunError, match=says):
            go(tmp_path, FILE.replace("SELECT id FROM s", select))
    with pytest.raises(RunError, match="was written with delimiter ',', and now it would be ';'"):
        go(tmp_path, FILE.replace("o.csv'", "o.csv' OPTIONS (delimiter = ';')"))
    with pytest.raises(RunError, match=r"has written to .*/out/o\.csv, and now it would write to .*/out/p\.csv"):
        go(tmp_path, FILE.replace("o.csv", "p.csv"))
    assert not (tmp_path / "out" / "p.csv").exists()
    file.rename(tmp_path / "out" / "p.csv")
    go(tmp_path, FILE.replace("o.csv", "p.csv"))  # it is the same file
    assert (tmp_path / "out" / "p.csv").read_bytes() == b"id\n1\n2\n3\n"
    record = tmp_path / "ck" / "queries" / "o" / "sink.json"
    known = json.loads(record.read_text())
    record.write_text(json.dumps({"batch": known["batch"], "length": known["length"]}))  # of an earlier version
    add(tmp_path, 4)
    go(tmp_path, FILE.replace("o.csv", "p.csv"))
    assert (tmp_path / "out" / "p.csv").read_bytes() == b"id\n1\n2\n3\n4\n"


def test_a_file_that_goes_away_while_a_query_runs_stops_it(live_mill: Mill, tmp_path: Path) -> None:
    add(tmp_path, 1)
    file = tmp_path / "out" / "o.csv"
    live_mill.execute(FILE + "CREATE SINK p TO 'json:out/p'; INSERT INTO p SELECT id FROM s;")
    for query in live_mill.queries:
        query.process_available()
    file.rename(f"{file}.1")
    (tmp_path / "out" / "p").rename(tmp_path / "out" / "q")
    add(tmp_path, 2)
    for name in ("o", "p"):
        with pytest.raises(RunError, match="is gone, and with it what the query has written\nhelp: bring it back as"):
            live_mill.query(name).wait(60)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["o.csv.1", "q"]
    with connect(base=tmp_path, once=True) as other:  # it was let go of
        other.execute(FILE)
        other.wait()
    assert file.read_text() == "id\n1\n2\n"


def test_one_mill_writes_a_file_at_a_time(live_mill: Mill, tmp_path: Path) -> None:
    add(tmp_path, 1)
    live_mill.execute(FILE)
    live_mill.query("o").process_available()
    with (
        connect(base=tmp_path, once=True) as other,
        pytest.raises(RunError, match=r"another query writes .*o\.csv, here or in another process\nhelp: stop that"),
    ):
        other.execute(FILE)
    live_mill.query("o").stop()
    go(tmp_path, FILE)
    assert (tmp_path / "out" / "o.csv").read_text() == "id\n1\n1\n"


def test_a_kill_lets_go_of_a_file(tmp_path: Path) -> None:
    held = (
        "from pathlib import Path; import time, sys; from millstream.connectors.files.locked_file import LockedFile\n"
    )
    held += "file = LockedFile(Path(sys.argv[1]), create=True); print('held', flush=True); time.sleep(600)"
    add(tmp_path, 1)
    with subprocess.Popen([sys.executable, "-c", held, str(tmp_path / "o.csv")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        from millstream.connectors.files.locked_file import LockedFile

        with pytest.raises(RunError, match="another query writes"):
            LockedFile(tmp_path / "o.csv", create=True)
        process.kill()
        process.wait()
        LockedFile(tmp_path / "o.csv", create=True).close()


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("there", "says"),
    [
        ("id\n7\n", None),
        ("", None),
        ('"id"\n7\n', None),
        ("id,name\n7,x\n", "is there already and begins with id,name, and the query would write id"),
        ("id\n7", "ends in the middle of a line"),
    ],
)
def test_a_file_that_is_there_before(tmp_path: Path, there: str, says: str | None) -> None:
    add(tmp_path, 1)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "o.csv").write_text(there)
    if says is not None:
        with pytest.raises(RunError, match=says):
            go(tmp_path, FILE)
        assert (tmp_path / "out" / "o.csv").read_text() == there
        assert not list((tmp_path / "ck" / "queries").iterdir())  # nothing is left of a query that did not start
        return
    go(tmp_path, FILE)
    assert (tmp_path / "out" / "o.csv").read_text() == (there or "id\n") + "1\n"


@pytest.mark.usefixtures("spark")
def test_names_of_columns_that_have_line_ends_make_one_header(tmp_path: Path) -> None:
    for ids in ((1,), (2,)):
        add(tmp_path, *ids)
        go(tmp_path, FILE.replace("SELECT id", 'SELECT id AS "a\nb, ""c"""'))
    assert (tmp_path / "out" / "o.csv").read_text() == '"a\nb, ""c"""\n1\n2\n'


@pytest.mark.usefixtures("spark")
def test_a_folder_that_is_gone_is_not_begun_anew(tmp_path: Path) -> None:
    add(tmp_path, 1)
    go(tmp_path, FOLDER)
    add(tmp_path, 2)
    with pytest.raises(RunError, match=r"has written to .*/out/o, and now it would write to .*/out/p"):
        go(tmp_path, FOLDER.replace("out/o", "out/p"))
    (tmp_path / "out" / "o").rename(tmp_path / "out" / "p")
    with pytest.raises(RunError, match="out/o is gone, and with it what the query has written\nhelp: bring it back"):
        go(tmp_path, FOLDER)
    assert not (tmp_path / "out" / "o").exists()
    go(tmp_path, FOLDER.replace("out/o", "out/p"))  # it is the same folder
    assert ids(tmp_path / "out" / "p") == [1, 2]


@pytest.mark.usefixtures("spark")
def test_two_mills_share_a_folder(live_mill: Mill, tmp_path: Path) -> None:
    add(tmp_path, 1)
    live_mill.execute(FOLDER)
    live_mill.query("o").process_available()
    staged = tmp_path / "out" / "o" / ".staging-somebody-else"
    staged.mkdir()
    with pytest.raises(RunError, match=r"mode = 'overwrite'.* would remove its rows\nhelp: stop that one first"):
        go(tmp_path, FOLDER.replace("out/o'", "out/o' OPTIONS (mode = 'overwrite')"))
    go(tmp_path, FOLDER)
    assert staged.exists()  # what somebody else is writing
    assert ids(tmp_path / "out" / "o") == [1, 1]


@pytest.mark.parametrize("parted", ["", ", partition_by = 'k'"])
def test_queries_that_overwrite_a_folder_keep_each_others_rows(mill: Mill, tmp_path: Path, parted: str) -> None:
    add(tmp_path, 1)
    old = tmp_path / "out" / "o" / "k=1"
    old.mkdir(parents=True)
    (old if parted else old.parent).joinpath("old.json").write_text('{"id": 99}\n')
    mill.execute(f"{STREAM} CREATE SINK o TO 'json:out/o' OPTIONS (mode = 'overwrite'{parted})")
    for number in (10, 20):
        mill.execute(f"INSERT INTO o SELECT id + {number} AS id, 1 AS k FROM s")
        mill.wait()
    assert ids(tmp_path / "out" / "o") == [11, 21]
    mill.execute("DROP QUERY o; INSERT INTO o SELECT id + 30 AS id, 1 AS k FROM s")
    mill.wait()
    assert ids(tmp_path / "out" / "o") == [21, 31]


def ids(folder: Path) -> list[int]:
    lines = (line for file in folder.rglob("*.json") for line in file.read_text().splitlines())
    return sorted(json.loads(line)["id"] for line in lines)
