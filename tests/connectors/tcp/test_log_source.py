"""A landing log as a Spark source: each row once, whole, over restarts and in bounded batches."""

import socket
import tempfile
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

from millstream.connectors.tcp import landing_log, log_source
from millstream.connectors.tcp.landing_log import LogWriter
from millstream.connectors.tcp.listener import TcpListener
from millstream.connectors.tcp.log_source import LogReader, LogStreamReader, record_batch
from millstream.errors import SettingError
from tests.drawing import drawn

pytestmark = pytest.mark.spark


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


@pytest.fixture
def registered(spark):
    log_source.register(spark)
    return spark


def write(log, *lines: str) -> None:
    with LogWriter(log, segment_bytes=1000) as writer:
        for line in lines:
            writer.append(line.encode() + b"\n")
        writer.sync()


def run(spark, log, tmp_path, **options) -> list[dict]:
    """Read all there is into files, and give the progress of the batches that had rows."""
    stream = spark.readStream.format("millstream_log").options(path=str(log), **options).load()
    query = (
        stream.writeStream.format("json")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    query.awaitTermination()
    return [progress for progress in query.recentProgress if progress["numInputRows"]]


def rows(spark, tmp_path) -> list[str]:
    return sorted(row.value for row in spark.read.schema("value STRING").json(str(tmp_path / "out")).collect())


def send(port: int, lines: list[str]) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
        sock.sendall("".join(line + "\n" for line in lines).encode())
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):
            pass


def test_a_query_started_again_reads_each_row_once(registered, log, tmp_path) -> None:
    expected = []
    for life in range(3):
        new = [f"row {life} {n:03}" for n in range(100)]
        with TcpListener(log_dir=log) as listener:
            send(listener.port, new)
        expected += new
        run(registered, log, tmp_path)
        assert rows(registered, tmp_path) == expected
    assert run(registered, log, tmp_path) == []


def test_a_running_query_sees_what_comes_in(registered, log) -> None:
    stream = registered.readStream.format("millstream_log").option("path", str(log)).load()
    query = stream.writeStream.format("memory").queryName("landed").outputMode("append").start()
    try:
        with TcpListener(log_dir=log) as listener:
            for n in range(3):
                send(listener.port, [f"row {n}"])
                query.processAllAvailable()
                assert registered.table("landed").count() == n + 1
        assert query.lastProgress["sources"][0]["endOffset"] == '{"position": 18}'
    finally:
        query.stop()


def test_available_now_takes_bounded_batches(registered, log, tmp_path) -> None:
    lines = [f"row {n:03}" for n in range(100)]
    write(log, *lines)
    batches = run(registered, log, tmp_path, maxBytesPerTrigger="250")
    # 32 lines of 8 bytes are the first line end after 250 bytes.
    assert [batch["numInputRows"] for batch in batches] == [32, 32, 32, 4]
    assert rows(registered, tmp_path) == lines


def test_a_large_log_is_split_at_line_ends(registered, log) -> None:
    lines = [f"{n} " + "x" * (n % 300) for n in range(100_000)]
    with LogWriter(log, segment_bytes=5 << 20) as writer:
        for n in range(0, len(lines), 5000):
            writer.append("".join(line + "\n" for line in lines[n : n + 5000]).encode())
        writer.sync()
    table = registered.read.format("millstream_log").options(path=str(log), maxPartitions="3").load()
    assert table.rdd.getNumPartitions() == 3
    assert sorted(row.value for row in table.collect()) == sorted(lines)


def test_a_log_replaced_under_a_query_is_told(registered, log, tmp_path) -> None:
    write(log, "one", "two")
    run(registered, log, tmp_path)
    log.rename(tmp_path / "old")
    write(log, "new")
    with pytest.raises(StreamingQueryException, match="not the log that the checkpoint knows"):
        run(registered, log, tmp_path)


def test_a_batch_read_of_an_empty_log_has_no_rows(registered, log) -> None:
    assert registered.read.format("millstream_log").option("path", str(log)).load().collect() == []


def test_any_bytes_become_rows(registered, log) -> None:
    lines = [b"gr\xc3\xbcn", b"bad \xff\xc3", b"\xed\xa0\x80", "\U0001f600".encode(), b"\0\0"]
    with LogWriter(log) as writer:
        writer.append(b"".join(line + b"\n" for line in lines))
        writer.sync()
    table = registered.read.format("millstream_log").option("path", str(log)).load()
    assert [bytes(row.line) for row in table.selectExpr("CAST(value AS BINARY) AS line").collect()] == lines


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])), min_size=1))
def test_rows_are_the_lines(lines) -> None:
    batch = record_batch("".join(line + "\n" for line in lines).encode())
    batch.validate(full=True)
    assert batch.to_pydict() == {"value": lines}


@drawn(50)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=60), st.integers(1, 200), st.integers(1, 6))
def test_batches_and_parts_together_are_the_log(lengths, max_bytes, parts) -> None:
    lines = [f"{n}".ljust(length, "x") for n, length in enumerate(lengths)]
    with tempfile.TemporaryDirectory() as directory, mock.patch.object(log_source, "PARTITION_BYTES", 5):
        write(directory, *lines)
        reader = LogStreamReader({"path": directory, "maxPartitions": str(parts)})
        reader.prepareForTriggerAvailableNow()
        write(directory, "after the target")
        position, found = reader.initialOffset(), []
        while (following := reader.latestOffset(position, ReadMaxBytes(max_bytes))) != position:
            for part in reader.partitions(position, following):
                for batch in reader.read(part):
                    found += batch.to_pydict()["value"]
            position = following
        assert found == lines
        assert reader.latestOffset(position, ReadAllAvailable()) == position
        assert reader.partitions(position, position) == []
        assert reader.reportLatestOffset() == {"position": landing_log.end(directory)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs the option 'path'"),
        ({"path": "log", "maxBytesPerTrigger": "0"}, "'maxBytesPerTrigger' is '0': write a whole number above 0"),
        ({"path": "log", "maxPartitions": "few"}, "'maxPartitions' is 'few'"),
    ],
)
def test_options_that_cannot_be_used(options, message) -> None:
    with pytest.raises(SettingError, match=message):
        LogReader(options)
