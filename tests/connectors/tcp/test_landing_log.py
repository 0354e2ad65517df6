"""The landing log gives back what was synced, whole, and nothing else."""

import errno
import itertools
import multiprocessing
import os
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.connectors.tcp import landing_log
from millstream.connectors.tcp.landing_log import LogWriter, begin, end, line_end, read, trim
from millstream.errors import RunError
from tests.drawing import drawn

blocks = st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"") + b"\n"), min_size=1, max_size=4).map(
    b"".join
)
steps = st.lists(st.one_of(blocks, st.sampled_from(["sync", "reopen"])), max_size=25)


def everything(directory: Path) -> bytes:
    return b"".join(read(directory, begin(directory), end(directory)))


@drawn(60)
@given(steps, st.integers(1, 120), st.integers(1, 50), st.data())
def test_any_appends_give_back_the_same_bytes(steps, segment_bytes, chunk_bytes, data) -> None:
    with tempfile.TemporaryDirectory() as directory:
        writer = LogWriter(directory, segment_bytes)
        synced = appended = b""
        for step in steps:
            if step == "sync":
                assert writer.sync() == len(appended)
                synced = appended
            elif step == "reopen":
                writer.close()
                writer = LogWriter(directory, segment_bytes)
                appended = synced
            else:
                writer.append(step)
                appended += step
            assert end(directory) == len(synced)
        writer.close()

        start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(synced))] * 2)))
        assert b"".join(read(directory, start, stop, chunk_bytes)) == synced[start:stop]

        ends = [0, *(i + 1 for i, byte in enumerate(synced) if byte == ord("\n"))]
        assert line_end(directory, start) == min(e for e in ends if e >= start)
        for chunk in read(directory, 0, len(synced), chunk_bytes):
            assert chunk.endswith(b"\n")

        left = trim(directory, start)
        assert left == begin(directory) <= max(start, 0)
        assert b"".join(read(directory, left, len(synced))) == synced[left:]


def test_a_torn_line_is_cut_off_when_the_log_is_opened_again(tmp_path) -> None:
    with LogWriter(tmp_path) as writer:
        writer.append(b"one\ntwo\n")
        writer.sync()
        writer.append(b"never synced\n")
    segment = tmp_path / f"{0:020d}.log"
    segment.write_bytes(segment.read_bytes() + b"torn")
    assert everything(tmp_path) == b"one\ntwo\n"
    with LogWriter(tmp_path) as writer:
        assert segment.read_bytes() == b"one\ntwo\n"
        writer.append(b"three\n")
        writer.sync()
    assert everything(tmp_path) == b"one\ntwo\nthree\n"


def test_segments_begun_after_the_last_sync_are_removed(tmp_path) -> None:
    with LogWriter(tmp_path, segment_bytes=1) as writer:
        writer.append(b"one\n")
        writer.sync()
        for _ in range(3):
            writer.append(b"lost\n")
    assert len(list(tmp_path.glob("*.log"))) == 4
    with LogWriter(tmp_path, segment_bytes=1) as writer:
        assert writer.position == 4
        writer.append(b"two\n")
        writer.sync()
    assert [p.name for p in sorted(tmp_path.glob("*.log"))] == [f"{0:020d}.log", f"{4:020d}.log"]
    assert everything(tmp_path) == b"one\ntwo\n"


@pytest.mark.parametrize("content", [None, b"", b"00000000000000000002 00000000\n"])
def test_without_a_readable_end_all_whole_lines_are_kept(tmp_path, content) -> None:
    with LogWriter(tmp_path, segment_bytes=4) as writer:
        for line in (b"one\n", b"two\n", b"three\n"):
            writer.append(line)
        writer.sync()
    (tmp_path / f"{8:020d}.log").write_bytes(b"three\nto")
    (tmp_path / "end").unlink()
    if content is not None:
        (tmp_path / "end").write_bytes(content)
    assert end(tmp_path) == 0
    LogWriter(tmp_path).close()
    assert everything(tmp_path) == b"one\ntwo\nthree\n"


def test_a_log_that_lost_its_files_is_refused(tmp_path) -> None:
    with LogWriter(tmp_path) as writer:
        writer.append(b"one\n")
        writer.sync()
    (tmp_path / f"{0:020d}.log").write_bytes(b"on")
    with pytest.raises(RunError, match="is damaged: it should reach to position 4, and stops at 2"):
        LogWriter(tmp_path)
    with pytest.raises(RunError, match="is damaged"):
        everything(tmp_path)


def test_positions_that_were_trimmed_cannot_be_read(tmp_path) -> None:
    with LogWriter(tmp_path, segment_bytes=1) as writer:
        for line in (b"one\n", b"two\n", b"three\n"):
            writer.append(line)
        writer.sync()
        assert trim(tmp_path, 5) == 4
        assert everything(tmp_path) == b"two\nthree\n"
        with pytest.raises(RunError, match="no longer holds position 0, its first is 4"):
            list(read(tmp_path, 0, 8))
    with LogWriter(tmp_path) as writer:
        assert writer.position == 14


def test_a_log_nobody_has_opened_is_empty(tmp_path) -> None:
    nowhere = tmp_path / "nowhere"
    assert (begin(nowhere), end(nowhere), line_end(nowhere, 9), list(read(nowhere, 0, 0))) == (0, 0, 0, [])


def test_only_whole_lines_can_be_appended(tmp_path) -> None:
    with LogWriter(tmp_path) as writer, pytest.raises(ValueError, match="whole lines"):
        writer.append(b"one\ntw")


def _try_to_open(directory: Path) -> None:
    try:
        LogWriter(directory)
    except RunError:
        os._exit(7)


def test_a_log_has_one_writer_only(tmp_path) -> None:
    with LogWriter(tmp_path):
        with pytest.raises(RunError, match="is being written by another listener"):
            LogWriter(tmp_path)
        other = multiprocessing.get_context("spawn").Process(target=_try_to_open, args=(tmp_path,))
        other.start()
        other.join()
        assert other.exitcode == 7
    LogWriter(tmp_path).close()


def test_after_a_failed_flush_the_writer_takes_no_more(tmp_path, monkeypatch) -> None:
    def fail(_file: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    writer = LogWriter(tmp_path)
    writer.append(b"one\n")
    writer.sync()
    writer.append(b"two\n")
    monkeypatch.setattr(landing_log, "_flush", fail)
    with pytest.raises(OSError, match="Input/output"):
        writer.sync()
    monkeypatch.undo()
    for again in (writer.sync, lambda: writer.append(b"three\n")):
        with pytest.raises(RunError, match="is closed"):
            again()
    assert everything(tmp_path) == b"one\n"


def test_readers_never_see_a_half_written_end(tmp_path) -> None:
    seen = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.append(end(tmp_path))

    with LogWriter(tmp_path) as writer:
        writer.append(b"first\n")
        writer.sync()
        watcher = threading.Thread(target=watch)
        watcher.start()
        for _ in range(200):
            writer.append(b"another line\n")
            writer.sync()
        done.set()
        watcher.join()
    assert all(a <= b for a, b in itertools.pairwise([6, *seen]))
    assert all((position - 6) % 13 == 0 for position in seen)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="names of open files are not known here")
def test_the_end_moves_only_over_bytes_that_are_flushed(tmp_path, monkeypatch) -> None:
    flushed = []

    def flush(file: int) -> None:
        os.fsync(file)
        name = Path(f"/proc/self/fd/{file}").readlink().name
        flushed.append((name, end(tmp_path)))

    monkeypatch.setattr(landing_log, "_flush", flush)
    with LogWriter(tmp_path, segment_bytes=4) as writer:
        flushed.clear()
        writer.append(b"one\n")
        writer.append(b"two\n")
        writer.sync()
    first, second = f"{0:020d}.log", f"{4:020d}.log"
    assert flushed == [(first, 0), (second, 0), ("end", 8)]
