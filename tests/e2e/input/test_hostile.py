"""Nothing is lost in silence: rows in = rows answered for + rejected + late, over hostile inputs.

MILLSTREAM_HOSTILE=10000 pytest tests/e2e/input/test_hostile.py writes that many rows for each of csv, json, parquet and
tcp, in a twentieth as many files; MILLSTREAM_HOSTILE_SEED is where it begins.
"""

from __future__ import annotations

import gzip
import os
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from millstream.connectors.tcp.listener import TcpListener
from millstream.mill import Mill
from tests.e2e.input.hostile import Author, write_parquet, write_text

pytestmark = pytest.mark.spark

ROWS = int(os.environ.get("MILLSTREAM_HOSTILE", "400"))
SEED = int(os.environ.get("MILLSTREAM_HOSTILE_SEED", "0"))
FILES = max(12, ROWS // 20)
PRODUCERS = 8
BAD_FILES = 3
BATCHES = f"max_files_per_batch = {-(-FILES // 2)}"


def push(author: Author, log: Path) -> Counter[bytes]:
    """Lines from many producers at once, in pieces; each of them hears how many have landed."""
    shares = [[author.csv_line() for _ in range(ROWS // PRODUCERS)] for _ in range(PRODUCERS)]
    with TcpListener(log_dir=log) as listener, ThreadPoolExecutor(PRODUCERS) as pool:

        def produce(number: int) -> bytes:
            own = Author(SEED + number)
            with socket.create_connection(("127.0.0.1", listener.port), timeout=60) as sock:
                for piece in own.pieces(b"\n".join(shares[number])):
                    sock.sendall(piece)
                sock.shutdown(socket.SHUT_WR)
                heard = b""
                while piece := sock.recv(65536):
                    heard += piece
            return heard

        for share, heard in zip(shares, pool.map(produce, range(PRODUCERS)), strict=True):
            # A last line that is empty has no end, so that there is none.
            assert heard.splitlines()[-1] == b"OK %d" % (len(share) - (not share[-1]))
    return Counter(line for share in shares for line in share if line)


def answered(mill: Mill, name: str) -> int:
    """The rows in windows, and those that came too late."""
    query = mill.query(f"{name}_counted")
    return sum(query.to_arrow()["n"].to_pylist()) + query.counts.late.get(name, 0)


@pytest.mark.parametrize("keep", ["", "KEEP ALL"], ids=["read", "landed"])
def test_rows_in_are_answered_for_or_rejected_or_late(mill: Mill, tmp_path: Path, keep: str) -> None:
    author = Author(SEED)
    written = {
        "headed": write_text(author, tmp_path / "headed", author.csv_line, ROWS, FILES, True),
        "bare": write_text(author, tmp_path / "bare", author.csv_line, ROWS, FILES, False),
        "objects": write_text(author, tmp_path / "objects", author.json_line, ROWS, FILES, False),
        "pushed": push(author, mill.home.log_of("pushed")),
    }
    rows = write_parquet(author, tmp_path / "typed", ROWS, FILES)
    for number in range(BAD_FILES):
        (tmp_path / "bare" / f"cut {number}.csv.gz").write_bytes(gzip.compress(b"1,a,\n" * 9999)[: 40 + number])
        (tmp_path / "typed" / f"cut {number}.parquet").write_bytes(b"PAR1" + bytes(number))
    sources = {
        "headed": f"'csv:headed' OPTIONS ({BATCHES})",
        "bare": f"'csv:bare' ON BAD FILE REJECT OPTIONS (header = false, {BATCHES})",
        "objects": f"'json:objects' OPTIONS ({BATCHES})",
        "pushed": "'tcp:0' OPTIONS (format = 'csv')",
    }
    for name, source in sources.items():
        mill.execute(f"""
            CREATE STREAM {name} (id BIGINT, name STRING, ts TIMESTAMP NOT NULL) ORDER BY ts SLACK 10 SECONDS {keep}
              SOURCE {source};
            CREATE QUERY {name}_counted AS SELECT count(*) [RANGE 1 MINUTE] AS n FROM {name};
            CREATE QUERY {name}_bad AS SELECT raw, reason FROM {name}.REJECTED;
        """)
    mill.execute(f"""
        CREATE STREAM typed (id BIGINT, name STRING, ts TIMESTAMP) ORDER BY ts SLACK 10 SECONDS {keep}
          SOURCE 'parquet:typed' ON BAD FILE REJECT OPTIONS ({BATCHES});
        CREATE QUERY typed_counted AS SELECT count(*) [RANGE 1 MINUTE] AS n FROM typed;
    """)
    mill.wait()
    assert answered(mill, "typed") == rows
    assert mill.query("typed_counted").counts.rejected["typed"] == BAD_FILES
    assert mill.query("typed_counted").counts.rows_in == rows + BAD_FILES
    for name, lines in written.items():
        rejected = mill.query(f"{name}_bad").to_arrow()
        assert all(rejected["reason"].to_pylist())
        raw = Counter(rejected["raw"].drop_null().to_pylist())
        assert rejected["raw"].null_count == (BAD_FILES if name == "bare" else 0), name
        strange = raw - Counter({line.decode(errors="backslashreplace"): count for line, count in lines.items()})
        assert not strange, f"{name}, seed {SEED}: rejected, and nobody wrote it"
        assert answered(mill, name) + raw.total() == lines.total(), f"{name}, seed {SEED}"
