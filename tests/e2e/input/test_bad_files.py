"""A bad file stops its query, which goes on once the file is whole; or it goes to REJECTED as a whole."""

from __future__ import annotations

import bz2
import gzip
import json
import os
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.errors import RunError
from millstream.mill import Mill, connect

pytestmark = pytest.mark.spark

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
MANY = 20_000


def good(number: int) -> pa.Table:
    stamps = pa.array([BEGIN + timedelta(seconds=number)], pa.timestamp("us", "UTC"))
    return pa.table({"id": pa.array([number], pa.int32()), "ts": stamps, "word": ["good"]})


def damaged(file: Path) -> None:
    """A file with an end that is whole, and pages that are not."""
    rows = pa.table(
        {"id": pa.array(range(MANY), pa.int32()), "ts": [BEGIN] * MANY, "word": [f"w{n}" for n in range(MANY)]}
    )
    pq.write_table(rows, file, compression="snappy", row_group_size=MANY // 4, use_dictionary=False)
    content = bytearray(file.read_bytes())
    middle = pq.read_metadata(file).row_group(2).column(2).data_page_offset
    content[middle : middle + 2000] = b"\xff" * 2000
    file.write_bytes(content)


def folder_of_parquet(folder: Path) -> dict[str, str]:
    """Good files and bad ones, and what is to be said of these."""
    folder.mkdir()
    for number in range(4):
        pq.write_table(good(number), folder / f"good{number}.parquet")
    pq.write_table(good(4), folder / "cut.parquet")
    whole = (folder / "cut.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.parquet").write_bytes(b"")  # it holds no rows
    (folder / "text 1%.parquet").write_text("id,ts\n1,2\n")
    pq.write_table(good(5).set_column(2, "word", pa.array([[1]])), folder / "list.parquet")
    pq.write_table(good(6).set_column(0, "id", pa.array(["six"])), folder / "type.parquet")
    pq.write_table(good(7).set_column(2, "word", pa.array([7])), folder / "other.parquet")
    damaged(folder / "pages.parquet")
    return {
        "cut.parquet": "it is damaged: Parquet magic bytes not found in footer.",
        "text 1%.parquet": "it is damaged: Parquet",
        "list.parquet": "column word is list<",
        "type.parquet": "column id is string, and the stream declares int32",
        "other.parquet": "column word is int64, and the stream declares string",
        "pages.parquet": "it is damaged: ",
    }


def check_rejected(mill: Mill, query: str, folder: Path, expected: dict[str, str]) -> None:
    rows = [row for row in mill.query(query).to_arrow().to_pylist() if row["raw"] is None]
    found = {row["origin"]: row["reason"] for row in rows}
    assert len(found) == len(rows)
    assert set(found) == {(folder / name).as_uri() for name in expected}
    wrong = {n: r for n, r in expected.items() if not found[(folder / n).as_uri()].startswith(r)}
    assert wrong == {}, found


def test_bad_files_of_parquet_are_rejected_whoever_reads(run: Callable[[str], Mill], tmp_path: Path) -> None:
    expected = folder_of_parquet(tmp_path / "in")
    columns = "(id INT NOT NULL, ts TIMESTAMP, word STRING) ORDER BY ts"
    mill = run(f"""
        CREATE STREAM s {columns} SOURCE 'parquet:in' ON BAD FILE REJECT OPTIONS (max_files_per_batch = 3);
        CREATE STREAM d {columns.replace(" NOT NULL", "")} SOURCE 'parquet:in' ON BAD FILE REJECT;
        CREATE QUERY rows AS SELECT id FROM s;
        CREATE QUERY ordered AS SELECT id, array_agg(id) OVER (ROWS 9 PRECEDING) AS ids FROM d;
        CREATE QUERY twice AS SELECT a.id FROM d AS a [RANGE 1 DAY], d AS b WHERE a.id = b.id;
        CREATE QUERY bad AS SELECT * FROM s.REJECTED;
        SET reader = 'spark';
        CREATE QUERY stage AS SELECT id, count(*) [RANGE 1 DAY] AS n FROM d GROUP BY id;
    """)
    for query in ("rows", "ordered", "twice", "stage"):
        assert sorted(mill.query(query).to_arrow()["id"].to_pylist()) == [0, 1, 2, 3], query
        counts = mill.query(query).counts
        assert counts.rejected == {"s" if query == "rows" else "d": len(expected)}, query
        assert not any(counts.beyond.values())
        assert counts.rows_in == (4 + len(expected)) * (2 if query == "twice" else 1), query
    check_rejected(mill, "bad", tmp_path / "in", expected)


def test_a_query_that_stops_goes_on_once_the_file_is_whole_or_rejected(spark: object, tmp_path: Path) -> None:
    script = """
        CREATE STREAM s (id INT, ts TIMESTAMP) ORDER BY ts SOURCE 'parquet:in' {};
        CREATE SINK one TO 'csv:one.csv' OPTIONS (header = false);
        CREATE SINK two TO 'csv:two.csv' OPTIONS (header = false);
        INSERT INTO one SELECT id FROM s;
        INSERT INTO two SELECT sum(id) [RANGE 1 SECOND] AS id FROM s;
    """
    (tmp_path / "in").mkdir()

    def go(clause: str) -> Mill:
        with connect(tmp_path / "home", base=tmp_path, once=True, master="local[2]") as mill:
            mill.execute(script.format(clause))
            mill.wait()
        return mill

    def stops(name: str) -> None:
        with pytest.raises(RunError) as failure:
            go("")
        for query in ("one", "two"):
            assert f"query {query} failed: {tmp_path}/in/{name}" in str(failure.value)
        assert str(failure.value).count("\nhelp: repair or replace the file and start the query again; ") == 2
        assert "Traceback" not in str(failure.value)

    pq.write_table(good(1), tmp_path / "in" / "a.parquet")
    (tmp_path / "in" / "b.parquet").write_text("no")
    stops("b.parquet")
    pq.write_table(good(2), tmp_path / "in" / "b.parquet")
    (tmp_path / "in" / "c.parquet").write_text("no")
    stops("c.parquet")
    assert sorted((tmp_path / "one.csv").read_text().split()) == ["1", "2"]
    pq.write_table(good(4), tmp_path / "in" / "d.parquet")
    assert [query.counts.rejected for query in go("ON BAD FILE REJECT").queries] == [{"s": 1}] * 2
    assert sorted((tmp_path / "one.csv").read_text().split()) == ["1", "2", "4"]
    assert sorted((tmp_path / "two.csv").read_text().split()) == ["1", "2", "4"]


def test_files_that_only_spark_reads_are_not_judged(mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "in" / "day=7").mkdir(parents=True)
    pq.write_table(good(1), tmp_path / "in" / "day=7" / "a.parquet")
    mill.execute("CREATE STREAM s (id INT) SOURCE 'parquet:in' ON BAD FILE REJECT")
    with pytest.raises(RunError, match="stream s says ON BAD FILE REJECT, and its files are in folders that are named"):
        mill.execute("CREATE QUERY q AS SELECT id FROM s")


# -- text ----------------------------------------------------------------------------------------------------


def zipped(lines: list[str]) -> bytes:
    return gzip.compress("\n".join(lines).encode())


def test_bad_files_of_text_are_rejected(run: Callable[[str], Mill], tmp_path: Path) -> None:
    for folder in ("csv", "json", "bare", "multi"):
        (tmp_path / folder).mkdir()
    objects = zipped([json.dumps({"id": n, "word": f"w{n * n}"}) for n in range(9000)])
    files: dict[str, bytes] = {
        "json/a.json": b'{"id": 1}\n{"id": "x"}\n\n',
        "json/b.json.gz": objects[: len(objects) // 2],
        "json/c.json.gz": gzip.compress(b'{"id": 2}\r\n'),
        "json/d.json.bz2": bz2.compress(b'{"id": 3}'),
        "json/e.json.zst": pa.compress(b'{"id": 4}\n', codec="zstd", asbytes=True)[:-3],
        "json/f.json.lz4": b"?",
        "csv/a.csv": b"more,id\nx,1\ny,z\n7\n",
        "csv/b.csv": b"ID,more\n2,x\n\n3\n",
        "csv/c.csv": b"nothing\n1\n",
        "csv/d.csv": b"",
        "csv/e.csv.gz": gzip.compress(b"\xef\xbb\xbfid\n4\n"),
        "csv/f.csv": b"id,ID\n1,2\n",
        "csv/g.csv": b",".join(b"c%d" % n for n in range(10_001)) + b"\n",
        "csv/h.csv": b"id" + b"x" * 17_000_000 + b"\n5\n",
        "bare/a.csv": b"1\n",
        "bare/b.csv.gz": b"no",
        "multi/a.csv": b'"mo\nre",id\n"x\n",1\n',
        "multi/b.csv": b"other\n2\n",
    }
    for number, (name, content) in enumerate(files.items()):
        (tmp_path / name).write_bytes(content)
        os.utime(tmp_path / name, (1e9 - number, 1e9 - number))  # the last first
    names = ("csv", "json", "bare", "multi")
    mill = run(f"""
        CREATE STREAM csv (id INT) SOURCE 'csv:csv' ON BAD FILE REJECT OPTIONS (max_files_per_batch = 3);
        CREATE STREAM json (id INT) SOURCE 'json:json' ON BAD FILE REJECT;
        CREATE STREAM bare (id INT) SOURCE 'csv:bare' ON BAD FILE REJECT OPTIONS (header = false);
        CREATE STREAM multi (id INT) SOURCE 'csv:multi' OPTIONS (multiline = true) ON BAD FILE REJECT;
        CREATE QUERY rows AS {" UNION ALL ".join(f"SELECT '{name}' AS name, id FROM {name}" for name in names)};
        CREATE QUERY bad AS {" UNION ALL ".join(f"SELECT * FROM {name}.REJECTED" for name in names)};
        CREATE QUERY ordered AS SELECT array_agg(id) OVER (ROWS 9 PRECEDING) AS ids FROM csv;
    """)
    assert Counter(tuple(row.values()) for row in mill.query("rows").to_arrow().to_pylist()) == Counter(
        [("csv", 1), ("csv", 2), ("csv", 4), ("json", 1), ("json", 2), ("json", 3), ("bare", 1), ("multi", 1)]
    )
    assert max(mill.query("ordered").to_arrow()["ids"].to_pylist(), key=len) == [4, 2, 1]
    assert mill.query("rows").counts.rejected == {"csv": 7, "json": 4, "bare": 1, "multi": 1}
    assert mill.query("rows").counts.rows_in == 8 + 13
    truncated = "it is damaged: Truncated compressed stream"
    missing = "the header does not have the column id, which is declared; it has "
    check_rejected(
        mill,
        "bad",
        tmp_path,
        {
            "json/b.json.gz": truncated,
            "json/e.json.zst": truncated,
            "json/f.json.lz4": "it is compressed as .lz4, and .gz, .bz2, .zst are what is read here",
            "csv/c.csv": f"{missing}nothing",
            "csv/f.csv": "the header has the column id, which is declared, more than once",
            "csv/g.csv": "the header names 10,001 columns, and at most 10,000 are read",
            "csv/h.csv": "the first line has more than 16,777,216 bytes, which cannot be a header",
            "bare/b.csv.gz": "it is damaged: ",
            "multi/b.csv": f"{missing}other",
        },
    )
    rows = [row for row in mill.query("bad").to_arrow().to_pylist() if row["raw"] is not None]
    assert {row["raw"]: row["reason"] for row in rows} == {
        '{"id": "x"}': "id: 'x' is not an INT",
        "y,z": "id: 'z' is not an INT",
        "7": "1 field where 2 were declared",
        "3": "1 field where 2 were declared",
    }


LINES = (
    b"x,ann,1", b",,", b"x,,2", b'x,"",3', b'"a,""b",",c",4', b'"",5" pipe,5', b'x,"a"b,6', b'x,"a"b"c,7',
    b"x,ann,no", b"x,ann", b"x,ann,9,more", b'x,"open,10', b'"open,ann,11', b'x,ann,"12', b"caf\xe9,ann,13",
    b"x,caf\xe9,14", b"caf\xc3\xa9,ok,8",
    b"\0,ann,15", b"x,a\0,16", b"   ", b"", b"1", b'"', b" x , ann , 17", b'x, "a",18', b"x,ann,19\t",
)  # fmt: skip


def test_lines_mean_the_same_whoever_puts_their_fields_in_order(run: Callable[[str], Mill], tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.csv").write_bytes(b"more,NAME,id\n" + b"\n".join(LINES))
    (tmp_path / "two" / "b.csv").write_text("id,name\n")
    mill = run("""
        CREATE STREAM one (id INT, name STRING) SOURCE 'csv:one';
        CREATE STREAM two (id INT, name STRING) SOURCE 'csv:two';
        CREATE STREAM many (id INT, name STRING) SOURCE 'csv:two' OPTIONS (multiline = true);
        CREATE QUERY q_one AS SELECT * FROM one; CREATE QUERY bad_one AS SELECT raw, reason FROM one.REJECTED;
        CREATE QUERY q_two AS SELECT * FROM two; CREATE QUERY bad_two AS SELECT raw, reason FROM two.REJECTED;
        CREATE QUERY twice AS SELECT id FROM many UNION ALL SELECT id FROM many;
    """)
    for query in ("q", "bad"):
        one, two = (mill.query(f"{query}_{name}").to_arrow().to_pylist() for name in ("one", "two"))
        assert one == two
        assert len(one) > 8
    assert mill.query("q_two").counts.rejected["two"] == mill.query("bad_two").to_arrow().num_rows
    assert mill.query("q_two").counts.rows_in == len(LINES) - 1
    assert mill.query("twice").to_arrow().num_rows > 8


def test_headers_of_files_that_appear(live_mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    live_mill.execute("""
        CREATE STREAM s (id INT, word STRING) SOURCE 'csv:in';
        CREATE QUERY q AS SELECT id, word FROM s; CREATE QUERY bad AS SELECT raw, reason FROM s.REJECTED;
    """)

    def arrive(name: str, text: str) -> None:
        (tmp_path / name).write_text(text)
        (tmp_path / name).rename(tmp_path / "in" / name)

    query = live_mill.query("q")
    for name, text in (
        ("1.csv", "more,WORD,id\nx,one,1\n"),
        ("2.csv", 'id,word\n2,"two"\n'),
        ("3.csv", '"word",more,"id"\nthree,x,3\nno,x,four\n'),
    ):
        arrive(name, text)
        query.process_available()
    assert [tuple(row.values()) for row in query.to_arrow().to_pylist()] == [(1, "one"), (2, "two"), (3, "three")]
    live_mill.query("bad").process_available()
    assert live_mill.query("bad").to_arrow().to_pylist() == [{"raw": "no,x,four", "reason": "id: 'four' is not an INT"}]
    arrive("4.csv", "word,no\nfour,4\n")
    with pytest.raises(RunError) as failure:
        query.wait(60)
    told = f"query q failed: {tmp_path}/in/4.csv: the header does not have the column id, which is declared; it has "
    assert str(failure.value).startswith(f"{told}word, no\nhelp: repair or replace the file and start the query again")


def test_a_query_that_met_another_header_goes_on(spark: object, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("word,id\none,1\n")
    (tmp_path / "c.csv").write_text("id\n7\n")
    script = """
        CREATE STREAM s (id INT, word STRING) SOURCE 'csv:in'; CREATE SINK out TO 'csv:out.csv';
        CREATE STREAM t (id INT) SOURCE 'csv:c.csv';
        INSERT INTO out SELECT id, word FROM s; CREATE QUERY other AS SELECT id FROM t;
    """
    with connect(tmp_path / "home", base=tmp_path, master="local[2]") as mill:
        mill.execute(script)
        mill.query("out").process_available()
        (tmp_path / "b.csv").write_text("id,word\n2,two\n")
        (tmp_path / "b.csv").rename(tmp_path / "in" / "b.csv")
        with pytest.raises(RunError) as failure:
            mill.query("out").wait(60)
        assert mill.query("other").to_arrow()["id"].to_pylist() == [7]
    told = "/in/b.csv differs from the first file's (id,word, not word,id)\nhelp: start the query again: it then reads"
    assert told in str(failure.value)
    with connect(tmp_path / "home", base=tmp_path, once=True, master="local[2]") as mill:
        mill.execute(script)
        mill.wait()
    assert (tmp_path / "out.csv").read_text() == "id,word\n1,one\n2,two\n"
