"""Every byte that arrives is accounted for: a line is a row, or it is rejected with its text and a reason."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.errors import RunError
from millstream.mill import Mill

pytestmark = pytest.mark.spark

CSV_ROWS: dict[bytes, str | None] = {
    b"1,ann": "ann",
    b"2,": None,
    b'3,""': "",
    b'4,"a"b': '"a"b',
    b'5,5" pipe': '5" pipe',
    b'6,"x""y, z"': 'x"y, z',
    b"7,caf\xc3\xa9": "caf\u00e9",
    "8,\ufffd".encode(): "\ufffd",
}
CSV_BAD: dict[bytes, str] = {
    b'14,"open': "a quoted field is not closed",
    b'15,"a","b': "a quoted field is not closed",
    b'16,"a""': "a quoted field is not closed",
    b'17,"': "a quoted field is not closed",
    b'18,a,"b': "a quoted field is not closed",
    b"\0\0\0": "a NUL at position 0",
    b"\0,x": "a NUL at position 0",
    b'19,"a\0b"': "a NUL at position 5",
    b"\t \x0c": "nothing but white space and control characters",
    b"20,caf\xe9": "not UTF-8: byte 0xe9 at position 6",
    b"\xff\xfe": "not UTF-8: byte 0xff at position 0",
    b"21": "1 field where 2 were declared",
    b"22,a,b": "3 fields where 2 were declared",
    b"#23,x": "id: '#23' is not an INT",
    "\ufeff24,x".encode(): "id: '\\ufeff24' is not an INT",
    b"id,name": "id: 'id' is not an INT",
}
JSON_ROWS: dict[bytes, str | None] = {
    b'{"id": 1, "name": "ann"}': "ann",
    b'{"id": 2, "name": {"a": {"b": 1}}}': '{"a":{"b":1}}',
    b'{"id": 3, "name": "}"}': "}",
    b'{"id": 4, "name": "a"} ': "a",
    b'{"id": 5, "name": "a", "name": "b"}': "b",
    b"{}": None,
}
JSON_BAD: dict[bytes, str] = {
    b'{"id": 11, "name": "\xff"}': "not UTF-8: byte 0xff at position 20",
    b'{"id": 12} {"id": 13}': "not JSON: Extra data",
    b'{"id": 14},{"id": 15}': "not JSON: Extra data",
    b'{"id": 16}garbage': "not JSON: Extra data",
    b'{"id": 17}]': "not JSON: Extra data",
    b'{"id": 18},{"__end":1}]}': "not JSON: Extra data",
    b'{"id": 19': "not JSON:",
    b'[{"id": 20}, {"id": 21}]': "not a JSON object",
    b"[]": "not a JSON object",
    b"22": "not a JSON object",
    b'"text"': "not a JSON object",
    b"null": "not a JSON object",
    b"\0\0": "not JSON:",
    b"   ": "not JSON:",
    b"\xff\xfe{\0}\0": "not UTF-8: byte 0xff at position 0",
    "\ufeff{}".encode(): "not JSON: Unexpected UTF-8 BOM",
    b"[" * 2000: "nested too deeply",
}


def check(mill: Mill, stream: str, rows: dict[bytes, str | None], bad: dict[bytes, str]) -> None:
    found = mill.query(f"{stream}_rows").to_arrow()["name"].to_pylist()
    assert Counter(found) == Counter(rows.values())
    rejected = mill.query(f"{stream}_bad").to_arrow().to_pylist()
    told = {r["raw"]: r["reason"] for r in rejected}
    wanted = {line.decode(errors="backslashreplace"): reason for line, reason in bad.items()}
    assert told.keys() == wanted.keys()
    assert len(rejected) == len(bad)
    assert {raw: reason for raw, reason in told.items() if not reason.startswith(wanted[raw])} == {}


def stream(name: str, source: str) -> str:
    return f"""
        CREATE STREAM {name} (id INT, name CHAR(10)) SOURCE {source};
        CREATE QUERY {name}_rows AS SELECT name FROM {name};
        CREATE QUERY {name}_bad AS SELECT * FROM {name}.REJECTED;
    """


def test_each_line_of_a_file_is_a_row_or_is_rejected(run: Callable[[str], Mill], tmp_path: Path) -> None:
    """A byte order mark, CRLF, empty lines and a last line without its end make no difference."""
    for folder in ("headed", "bare", "objects"):
        (tmp_path / folder).mkdir()
    lines = [*CSV_ROWS, b"", *CSV_BAD]
    (tmp_path / "headed" / "a.csv").write_bytes(b"\xef\xbb\xbf" + b"\r\n".join([b"id,name", *lines]))
    (tmp_path / "headed" / "b.csv").write_bytes(b"id,name\n")
    (tmp_path / "headed" / "c.csv").write_bytes(b"")
    (tmp_path / "bare" / "a.csv").write_bytes(b"\n".join([*lines, b"", b""]))
    (tmp_path / "objects" / "a.json").write_bytes(b"\xef\xbb\xbf" + b"\n".join([*JSON_ROWS, b"", *JSON_BAD]))
    mill = run(
        stream("headed", "'csv:headed'")
        + stream("bare", "'csv:bare' OPTIONS (header = false)")
        + stream("objects", "'json:objects'")
    )
    check(mill, "headed", CSV_ROWS, CSV_BAD)
    check(mill, "bare", CSV_ROWS, CSV_BAD)
    check(mill, "objects", JSON_ROWS, JSON_BAD)
    assert mill.query("bare_rows").counts.rejected == {"bare": len(CSV_BAD)}
    assert mill.query("objects_rows").counts.rejected == {"objects": len(JSON_BAD)}


def test_each_line_that_is_pushed_is_a_row_or_is_rejected(live_mill: Mill) -> None:
    live_mill.execute(
        stream("objects", "'tcp:0' OPTIONS (format = 'json')") + stream("fields", "'tcp:0' OPTIONS (format = 'csv')")
    )
    pushed = {"objects": [*JSON_ROWS, *JSON_BAD], "fields": [*CSV_ROWS, *CSV_BAD]}
    for name, lines in pushed.items():
        with socket.create_connection(("127.0.0.1", live_mill.listeners[name].port)) as producer:
            producer.sendall(b"".join(line + b"\r\n" for line in lines))
            producer.shutdown(socket.SHUT_WR)
            while producer.recv(1024):
                pass
    deadline = time.monotonic() + 60
    for name, lines in pushed.items():
        queries = [live_mill.query(f"{name}_{part}") for part in ("rows", "bad")]
        while time.monotonic() < deadline and sum(q.to_arrow().num_rows for q in queries) < len(lines):
            time.sleep(0.05)
    check(live_mill, "objects", JSON_ROWS, JSON_BAD)
    check(live_mill, "fields", CSV_ROWS, CSV_BAD)


def test_records_of_several_lines(run: Callable[[str], Mill], tmp_path: Path) -> None:
    """With multiline, an open quote reaches to the end of its file, and is rejected with all of that."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_bytes(b'id,name\r\n1,"a\r\nb, ""c"""\r\n2,5" x\r\n\r\n3\r\n4,"open\r\n5,lost?')
    (tmp_path / "in" / "b.csv").write_bytes(b'"id","name"\n6,"d\ne"\n7,"\xff\n"\n')
    mill = run(stream("s", "'csv:in' OPTIONS (multiline = true)"))
    rows: dict[bytes, str | None] = {b"1": 'a\r\nb, "c"', b"2": '5" x', b"6": "d\ne"}
    bad = {
        b"3": "1 field",
        b'4,"open\r\n5,lost?': "a quoted field is not closed",
        b'7,"\xff\n"': "not UTF-8: byte 0xff",
    }
    check(mill, "s", rows, bad)
    assert mill.query("s_rows").counts.rows_in == 6


def test_very_long_and_very_wide_lines_are_rejected(run: Callable[[str], Mill], tmp_path: Path) -> None:
    for folder in ("headed", "objects"):
        (tmp_path / folder).mkdir()
    wide = b"2" + b",x" * 100_000
    wider = b"3" + b",x" * 300_000
    long = b'4,"' + b"x" * 17_000_000 + b'"'
    (tmp_path / "headed" / "a.csv").write_bytes(b"\n".join([b"id,name", b"1,ann", wide, wider, long, b"5,bob"]))
    long_object = b'{"id": 1, "name": "' + b"x" * 17_000_000 + b'"}'
    (tmp_path / "objects" / "a.json").write_bytes(b"\n".join([long_object, b'{"name": "ann"}']))
    mill = run(stream("headed", "'csv:headed'") + stream("objects", "'json:objects'"))
    assert mill.query("headed_rows").to_arrow()["name"].to_pylist() == ["ann", "bob"]
    assert mill.query("objects_rows").to_arrow()["name"].to_pylist() == ["ann"]
    rejected = mill.query("headed_bad").to_arrow().to_pylist()
    assert [(len(r["raw"]), r["reason"]) for r in rejected] == [
        (len(wide), "100,001 fields where 2 were declared"),
        (len(wider), "300,000 delimiters, and at most 200,000 are read"),
        (1000, "a line of 17,000,004 bytes, and at most 16,777,216 are read; raw is its beginning"),
    ]
    (rejected_object,) = mill.query("objects_bad").to_arrow()["reason"].to_pylist()
    assert rejected_object.startswith("a line of 17,000,021 bytes")


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (b",".join(b"c%d" % n for n in range(100_000)), "whose header names 100,000 columns, and at most 10,000 are"),
        (b"id,name" + b"x" * 17_000_000, "has more than 16,777,216 bytes, which cannot be a header"),
        (b"id,name,ID", "declares the column id, and the header of .* has it more than once"),
    ],
)
def test_a_header_that_cannot_be_one_is_refused(mill: Mill, tmp_path: Path, header: bytes, said: str) -> None:
    (tmp_path / "a.csv").write_bytes(header + b"\n1,ann\n")
    with pytest.raises(RunError, match=said):
        mill.execute(stream("s", "'csv:a.csv'"))
