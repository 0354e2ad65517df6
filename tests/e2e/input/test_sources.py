"""Every kind of source delivers what it holds, and says clearly what is wrong with it."""

from __future__ import annotations

import json
import shutil
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.errors import RunError
from millstream.mill import Mill

pytestmark = pytest.mark.spark


def test_csv_columns_are_found_by_name(run: Callable[[str], Mill], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\u00e9xtra`,NAME,id\nx,ann,1\ny,bob,2\n", encoding="utf-8")
    mill = run("CREATE STREAM s (id INT, name STRING) SOURCE 'csv:a.csv'; CREATE QUERY q AS SELECT * FROM s;")
    assert mill.query("q").to_arrow().to_pylist() == [{"id": 1, "name": "ann"}, {"id": 2, "name": "bob"}]


def test_csv_without_header_other_delimiter_other_null(run: Callable[[str], Mill], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1;ann\n2;\\N\n3;\n")
    mill = run(r"""
        CREATE STREAM s (id INT, name STRING) SOURCE 'csv:a.csv'
          OPTIONS (header = false, delimiter = ';', "null" = '\\N');
        CREATE QUERY q AS SELECT * FROM s;
    """)
    assert [r["name"] for r in mill.query("q").to_arrow().to_pylist()] == ["ann", None, None]


def test_csv_multiline(run: Callable[[str], Mill], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,name\n1,"two\nlines"\n')
    mill = run("""
        CREATE STREAM s (id INT, name STRING) SOURCE 'csv:a.csv' OPTIONS (multiline = true);
        CREATE QUERY q AS SELECT name FROM s;
    """)
    assert mill.query("q").to_arrow()["name"].to_pylist() == ["two\nlines"]


def test_csv_header_without_a_declared_column(mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,nam\n1,ann\n")
    with pytest.raises(RunError, match=r"declares the column name, and the header of .*a\.csv does not have it"):
        mill.execute("CREATE STREAM s (id INT, name STRING) SOURCE 'csv:a.csv'; CREATE QUERY q AS SELECT * FROM s;")


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_missing_files_are_named(mill: Mill, kind: str) -> None:
    with pytest.raises(RunError, match=rf"stream s reads {kind}:nowhere/x, and there is no /.*nowhere/x"):
        mill.execute(f"CREATE STREAM s (id INT) SOURCE '{kind}:nowhere/x'; CREATE QUERY q AS SELECT * FROM s;")


def test_parquet_with_and_without_zone(run: Callable[[str], Mill], tmp_path: Path) -> None:
    when = datetime(2024, 2, 29, 12, 30, 0, 250000)
    for name, zone in (("naive", None), ("utc", "UTC")):
        stamps = pa.array([when], pa.timestamp("us", zone))
        pq.write_table(pa.table({"ts": stamps, "id": pa.array([1], pa.int32())}), tmp_path / f"{name}.parquet")
    mill = run("""
        CREATE STREAM a (id INT, ts TIMESTAMP) ORDER BY ts SOURCE 'parquet:naive.parquet';
        CREATE STREAM b (id INT, ts TIMESTAMP) ORDER BY ts SOURCE 'parquet:utc.parquet';
        CREATE QUERY qa AS SELECT ts FROM a; CREATE QUERY qb AS SELECT ts FROM b;
    """)
    for name in ("qa", "qb"):
        assert mill.query(name).to_arrow()["ts"].to_pylist() == [when.replace(tzinfo=UTC)]


def test_times_are_iso_8601_and_without_zone_mean_utc(run: Callable[[str], Mill], tmp_path: Path) -> None:
    written = ["2024-01-01T10:00:00", "2024-01-01 10:00:00", "2024-01-01T12:00:00+02:00", "2024-01-01T10:00:00.000Z"]
    (tmp_path / "a.json").write_text("".join(json.dumps({"ts": t}) + "\n" for t in written))
    (tmp_path / "a.csv").write_text("ts\n" + "\n".join(written) + "\n")
    mill = run("""
        CREATE STREAM j (ts TIMESTAMP) SOURCE 'json:a.json'; CREATE QUERY qj AS SELECT ts FROM j;
        CREATE STREAM c (ts TIMESTAMP) SOURCE 'csv:a.csv'; CREATE QUERY qc AS SELECT ts FROM c;
    """)
    for name in ("qj", "qc"):
        assert mill.query(name).to_arrow()["ts"].to_pylist() == [datetime(2024, 1, 1, 10, tzinfo=UTC)] * 4


def test_rate_fills_columns_by_type(live_mill: Mill) -> None:
    live_mill.execute("CREATE STREAM t (n BIGINT, at TIMESTAMP) ORDER BY at SOURCE 'rate:50';")
    live_mill.execute("CREATE QUERY q AS SELECT n, n % 2 = 0 AS even, at FROM t WHERE n < 20;")
    got = 0
    for batch in live_mill.query("q").subscribe(timeout=30):
        got += batch.num_rows
        if got >= 20:
            break
    rows = live_mill.query("q").to_arrow().sort_by("n").to_pylist()
    assert [r["n"] for r in rows] == list(range(20))
    assert rows[3]["even"] is False


def test_a_followed_folder_delivers_files_as_they_appear(live_mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    live_mill.execute("CREATE STREAM s (id INT) SOURCE 'csv:in'; CREATE QUERY q AS SELECT id FROM s;")
    query = live_mill.query("q")
    for number in range(3):
        hidden = tmp_path / "in" / f".{number}.csv"
        hidden.write_text(f"id\n{number}\n")
        hidden.rename(tmp_path / "in" / f"{number}.csv")
        query.process_available()
        assert query.to_arrow()["id"].to_pylist() == list(range(number + 1))


@pytest.mark.parametrize("text_format", ["json", "csv"])
def test_tcp_lands_rows_and_stamps_them_on_arrival(live_mill: Mill, text_format: str) -> None:
    before = datetime.now(UTC)
    live_mill.execute(f"""
        CREATE STREAM s (id INT, name STRING, current_time TIMESTAMP) ORDER BY current_time
          SOURCE 'tcp:0' OPTIONS (format = '{text_format}');
        CREATE QUERY q AS SELECT * FROM s; CREATE QUERY bad AS SELECT raw, reason, origin FROM s.REJECTED;
    """)
    lines = ['{"id": 1, "name": "ann"}', '{"id": "x"}'] if text_format == "json" else ['1,"ann"', "x,y"]
    with socket.create_connection(("127.0.0.1", live_mill.listeners["s"].port)) as producer:
        producer.sendall("".join(f"{line}\n" for line in lines).encode())
        producer.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := producer.recv(1024):
            answer += piece
    assert answer.endswith(b"OK 2\n")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (
        live_mill.query("q").to_arrow().num_rows and live_mill.query("bad").to_arrow().num_rows
    ):
        time.sleep(0.05)
    (row,) = live_mill.query("q").to_arrow().to_pylist()
    assert (row["id"], row["name"]) == (1, "ann")
    assert row["current_time"] > before
    (bad,) = live_mill.query("bad").to_arrow().to_pylist()
    assert bad["raw"] == lines[1]
    assert bad["reason"] == "id: 'x' is not an INT"


def test_queries_fail_when_the_log_of_their_stream_is_gone(live_mill: Mill) -> None:
    live_mill.execute("""
        CREATE STREAM s (id INT) SOURCE 'tcp:0' OPTIONS (format = 'csv', timeout = '60');
        CREATE STREAM odd AS SELECT id FROM s WHERE id % 2 = 1;
        CREATE QUERY q AS SELECT id FROM odd;
    """)
    with socket.create_connection(("127.0.0.1", live_mill.listeners["s"].port), timeout=60) as producer:
        producer.sendall(b"1\n")
        assert producer.recv(100) == b"OK 1\n"
        shutil.rmtree(live_mill.home.log_of("s"))
        producer.sendall(b"2\n")
        assert producer.recv(100) == b"ERR the log cannot be written\n"
    gone = "could not land lines"
    with pytest.raises(RunError, match=f"query q failed: .*{gone}"):
        live_mill.query("q").wait(60)
    assert live_mill.query("q").state == "failed"
    with pytest.raises(RunError, match=gone):
        live_mill.execute("CREATE QUERY later AS SELECT id FROM s;")


def test_columns_are_computed_from_what_a_source_delivers(run: Callable[[str], Mill], tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1,10500000000000,3\n2,12700000000000,4\n3,bad,5\n")
    mill = run("""
        CREATE STREAM reading (sid INT, ts BIGINT, x INT,
            time TIMESTAMP AS (timestamp_micros(ts DIV 1000000)), wide BIGINT GENERATED ALWAYS AS (if(x < 4, 1, 2)))
          ORDER BY time SOURCE 'csv:in' OPTIONS (header = false);
        CREATE QUERY counted AS SELECT sum(x) [RANGE 10 SECONDS, WA time] AS total, max(wide) AS widest, window_end
          FROM reading;
        CREATE QUERY bad AS SELECT raw FROM reading.REJECTED;
    """)
    rows = mill.query("counted").to_arrow().to_pylist()
    assert [(r["total"], r["widest"], r["window_end"].second) for r in rows] == [(7, 2, 20)]
    assert mill.query("bad").to_arrow()["raw"].to_pylist() == ["3,bad,5"]
