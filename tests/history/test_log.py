"""The log alone: what is landed stays at its position, whatever is compacted, trimmed, killed and read meanwhile."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.catalog.keep import Keep
from millstream.catalog.moment import At, Moment
from millstream.errors import RunError
from millstream.history import segments
from millstream.history.compact import FAN, pieces_to_join
from millstream.history.index import Piece
from millstream.history.log import Log, Part, read
from millstream.history.moments import begin_at, end_at
from millstream.history.segments import SegmentWriter, read_segment
from millstream.history.trim import GRACE, trim_position
from millstream.progress.promise_mark import promise_of

COLUMNS = ["n", "__raw", "__reason", "__origin", "__mark"]
SCHEMA = pa.schema([("n", pa.int64()), *((name, pa.string()) for name in COLUMNS[1:])])
HOUR = 3_600_000_000


def rows_of(numbers: list[int]) -> pa.RecordBatch:
    nothing = pa.nulls(len(numbers), pa.string())
    return pa.RecordBatch.from_arrays([pa.array(numbers, pa.int64()), *[nothing] * 4], schema=SCHEMA)


def write(log: Log, numbers: list[int], task: int = 0) -> Part:
    """A part whose tuples have their numbers as time stamps."""
    writer = SegmentWriter(log.folder, SCHEMA)
    writer.add(rows_of(numbers))
    size = writer.seal()
    count = len(numbers)
    return Part(0, "", 0, task, 0, writer.name, 0, count, count, 0, size, min(numbers), max(numbers))


def numbers(log: Log, start: int, stop: int) -> list[int]:
    return [n for batch in read(log.folder, start, stop, ["n"]) for n in batch.column("n").to_pylist()]


@given(data=st.data())
def test_positions_stay_whatever_is_done_to_the_files(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Log(Path(folder) / "log")
        landed: list[int | None] = []
        begin, batch = 0, 0
        for _ in range(data.draw(st.integers(1, 40), "steps")):
            step = data.draw(st.sampled_from(["land", "land", "land", "compact", "trim", "open", "again", "promise"]))
            match step:
                case "land":
                    parts = data.draw(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=5), max_size=3))
                    written = [write(log, part, task) for task, part in enumerate(parts)]
                    log.land(batch, list(reversed(written)), 0)
                    landed += [n for part in parts for n in part]
                    batch += 1
                case "again" if batch:
                    log.land(batch - 1, [write(log, [7])], 0)  # it was landed, and comes again after a crash
                    assert log.has(batch - 1)
                    assert not log.has(batch)
                case "promise":
                    if log.promise(len(landed), SCHEMA):
                        landed.append(None)
                case "trim":
                    log.trim(data.draw(st.integers(0, len(landed)), "before"))
                    assert begin <= log.index.extent.begin <= len(landed)
                    begin = log.index.extent.begin
                case "open":
                    (log.folder / "left.arrow").write_bytes(b"half")
                    log = Log(log.folder)
                    assert not (log.folder / "left.arrow").exists()
                case "compact":
                    log.compact()
            extent = log.index.extent
            assert (extent.begin, extent.end) == (begin, len(landed))
            start = data.draw(st.integers(begin, len(landed)), "start")
            stop = data.draw(st.integers(start, len(landed)), "stop")
            assert numbers(log, start, stop) == landed[start:stop]
            files = {file.name for file in log.folder.glob("*.arrow")}
            assert files >= {piece.file for piece in log.index.pieces()}
        while log.compact():
            pass
        assert numbers(log, begin, len(landed)) == landed[begin:]
        assert not pieces_to_join(log.index.pieces())


@given(batches=st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=4), max_size=8), since=st.integers(0, 31))
def test_all_tuples_since_a_time_are_behind_its_position(batches: list[list[int]], since: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Log(Path(folder) / "log")
        for number, batch in enumerate(batches):
            log.land(number, [write(log, batch)], 0)
        start = begin_at(log.index, "s", Moment(At.TIME, since))
        everything = [n for batch in batches for n in batch]
        behind = everything[start.position :]
        assert [n for n in behind if n >= since] == [n for n in everything if n >= since]
        assert start.time == since
        assert end_at(log.index, None).position == len(everything)


def test_more_history_than_is_kept_is_refused(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.land(0, [write(log, [1_000_000, 5_000_000])], 0)
    log.land(1, [write(log, [6_000_000])], 0)
    log.trim(2)
    with pytest.raises(RunError, match=r"the history of s begins at 1970-01-01T00:00:05.000001"):
        begin_at(log.index, "s", Moment(At.TIME, 5_000_000))
    assert begin_at(log.index, "s", Moment(At.TIME, 5_000_001)).position == 2
    assert begin_at(log.index, "s", Moment(At.EARLIEST)).position == 2
    assert begin_at(log.index, "s", Moment(At.AGO, 1), now=6_000_001).time == 6_000_000
    with pytest.raises(RunError, match="no longer holds position 0, its first is 2"):
        numbers(log, 0, 3)


def test_a_promise_waits_for_what_is_on_its_way_and_no_batch_comes_before_it(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    far = 1 << 60
    with log.landing():
        assert not log.promise(far, SCHEMA)
    assert log.promise(far, SCHEMA)
    assert not log.promise(far, SCHEMA)
    with log.landing() as moment:
        assert moment >= far
    (batch,) = read(log.folder, 0, 1)
    assert promise_of(batch.column("__mark")[0].as_py()) == far


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.land(0, [write(log, [1])], 0)
    (file,) = log.folder.glob("*.arrow")
    file.unlink()
    with pytest.raises(RunError, match="is damaged"):
        numbers(log, 0, 1)


def test_a_damaged_index_is_told(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    (log.folder / "index.db").write_bytes(b"nonsense" * 1000)
    for name in ("index.db-wal", "index.db-shm"):
        (log.folder / name).unlink(missing_ok=True)
    with pytest.raises(RunError, match="cannot be used"):
        _ = log.index.extent


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=8), data=st.data())
def test_any_part_of_a_file_can_be_read(sizes: list[int], data: st.DataObject) -> None:
    whole = list(range(sum(sizes)))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(segments, "BLOCK_ROWS", 5)
        writer = SegmentWriter(Path(folder), SCHEMA)
        for number, size in enumerate(sizes):
            begin = sum(sizes[:number])
            writer.add(rows_of(whole[begin : begin + size]))
        writer.seal()
        skip = data.draw(st.integers(0, len(whole)))
        rows = data.draw(st.integers(0, len(whole) - skip))
        for columns in (None, ["n"], ["__mark", "n"]):
            found = [
                n for b in read_segment(Path(folder) / writer.name, skip, rows, columns) for n in b["n"].to_pylist()
            ]
            assert found == whole[skip : skip + rows]


def piece(position: int, newest: int | None, size: int = 10, landed: int = 0, so_far: int = 0) -> Piece:
    return Piece(position, 10, 10, 0, "f", 0, size, newest, newest, so_far, landed)


def test_what_is_trimmed() -> None:
    pieces = [piece(10 * n, n * HOUR, so_far=n * HOUR) for n in range(5)]
    now = GRACE + HOUR * 10

    def before(keep: Keep, slack: int = 0, timed: bool = True) -> int | None:
        return trim_position(pieces, keep, timedelta(hours=slack), now, timed)

    assert before(Keep()) is None
    assert before(Keep(length=timedelta(hours=2))) == 20  # 2:00 itself is no more than 2 hours before 4:00
    assert before(Keep(length=timedelta(hours=2)), slack=1) == 10
    assert before(Keep(length=timedelta(hours=9))) is None
    assert before(Keep(size=25)) == 30
    assert before(Keep(size=50)) is None
    assert before(Keep(size=1)) == 50
    assert before(Keep(length=timedelta(hours=9)), timed=False) == 50
    assert trim_position(pieces, Keep(size=1), timedelta(0), GRACE - 1, True) is None
    # An old tuple that came late holds back nothing, and a new one among old ones does.
    assert (
        trim_position([piece(0, 9 * HOUR), piece(10, 0)], Keep(length=timedelta(hours=1)), timedelta(0), now, True)
        is None
    )


def test_each_row_is_written_anew_only_as_often_as_there_are_sizes() -> None:
    small = [piece(10 * n, n) for n in range(FAN)]
    assert pieces_to_join(small) == small
    assert not pieces_to_join(small[1:])
    large = piece(10 * FAN, 0)._replace(rows=200)
    assert pieces_to_join([*small, large]) == small
    assert not pieces_to_join([*small[2:], large])
    assert pieces_to_join([large] * FAN) == [large] * FAN
