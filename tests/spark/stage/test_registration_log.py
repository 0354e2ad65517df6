"""The log of registrations: a crash at any byte loses no entry that was told of, and tasks see those of their batch."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from millstream.errors import RunError
from millstream.expressions.arrow.steps import ColumnOf, Whole
from millstream.operators.match.predicate_index import ID
from millstream.operators.match.terms import MatchTerms
from millstream.spark.stage import match, registration_log
from millstream.spark.stage.match import Matching, _Registered
from millstream.spark.stage.registration_log import (
    HANDLE,
    ID_BYTES,
    Entry,
    Kind,
    RegistrationLog,
    numbers_table,
    read_log,
)


def adding(batch: int, *numbers: int) -> Entry:
    handles = pa.array([f"h{n}" for n in numbers], pa.string())
    table = pa.table({ID: pa.array(numbers, pa.int64()), HANDLE: handles, "item": pa.array(numbers, pa.int32())})
    return Entry(Kind.ADD, batch, table)


def removing(batch: int, *numbers: int) -> Entry:
    return Entry(Kind.REMOVE, batch, numbers_table(numbers))


def told(entries: tuple[Entry, ...]) -> list[tuple[Kind, int, list[int]]]:
    return [(e.kind, e.batch, e.table[ID].to_pylist()) for e in entries]


def test_a_crash_at_any_byte_leaves_whole_entries(tmp_path: Path) -> None:
    file = tmp_path / "log"
    log = RegistrationLog(file)
    ends = [file.stat().st_size]
    for entry in (adding(0, 0, 1), removing(3, 0), adding(4, 2)):
        log.append(entry)
        ends.append(file.stat().st_size)
    log.close()
    whole = file.read_bytes()
    for size in range(ID_BYTES, len(whole) + 1):
        file.write_bytes(whole[:size])
        log = RegistrationLog(file)
        found = told(log.entries())
        assert len(found) == sum(size >= end for end in ends[1:]), size
        log.append(adding(9, 7))
        assert told(log.entries()) == [*found, (Kind.ADD, 9, [7])], "what comes after is readable"
        log.close()


def test_a_log_that_is_damaged_in_the_middle_is_refused(tmp_path: Path) -> None:
    log = RegistrationLog(tmp_path / "log")
    log.append(adding(0, 0))
    log.append(adding(0, 1))
    log.close()
    data = bytearray((tmp_path / "log").read_bytes())
    data[ID_BYTES + 20] ^= 1
    (tmp_path / "log").write_bytes(data)
    with pytest.raises(RunError, match="damaged at byte 16"):
        RegistrationLog(tmp_path / "log")


def test_a_log_that_is_cut_off_within_its_head_is_refused(tmp_path: Path) -> None:
    log = RegistrationLog(tmp_path / "log")
    log.append(adding(0, 0))
    log.close()
    (tmp_path / "log").write_bytes(b"")
    with pytest.raises(RunError, match="log is damaged\nhelp: bring it back, or remove it to begin without"):
        RegistrationLog(tmp_path / "log")


def test_entries_come_to_the_disk_together_and_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = RegistrationLog(tmp_path / "log")
    synced: list[int] = []
    there = threading.Event()

    def fsync(place: int) -> None:
        synced.append(place)
        there.set()

    monkeypatch.setattr(registration_log.os, "fsync", fsync)
    log.append(adding(0, 0))
    log.append(adding(0, 1))
    assert there.wait(10), "nobody asks for it"
    log.append(adding(0, 2))
    log.sync()
    log.sync()
    log.close()
    assert len(synced) == 2
    assert len(told(RegistrationLog(tmp_path / "log", durable=False).entries())) == 3


def test_a_disk_that_refuses_entries_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = RegistrationLog(tmp_path / "log")
    asked = threading.Event()

    def fsync(place: int) -> None:
        asked.set()
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(registration_log.os, "fsync", fsync)
    log.append(adding(0, 0))
    assert asked.wait(10)
    for ask in (log.sync, lambda: log.append(adding(0, 1))):
        with pytest.raises(RunError, match="cannot be written: Input/output error"):
            ask()
    log.close()


def matching(file: Path) -> Matching:
    terms = MatchTerms(equal=((Whole(ColumnOf("item", None)), Whole(ColumnOf("wanted", None))),))
    return Matching("1", file, terms, ID, (("wanted", pa.int32(), "item"),), ("item",), (ID,))


def met(known: _Registered, batch: int) -> list[int]:
    """The numbers of those that are met by tuples of all items."""
    index = known.at(batch)
    tuples = pa.table({"item": pa.array(range(10), pa.int32())})
    pairs = [index.rows[ID].take(pa.array(right)).to_pylist() for _, right in index.pairs(tuples)]
    return sorted(n for part in pairs for n in part)


def test_tasks_see_the_registrations_of_their_batch(tmp_path: Path) -> None:
    log = RegistrationLog(tmp_path / "log")
    known = _Registered(matching(log.file))
    assert met(known, 0) == []
    log.append(adding(1, 0, 1))
    assert met(known, 0) == []
    assert met(known, 1) == [0, 1]
    log.append(removing(3, 0))
    log.append(adding(3, 2))
    log.append(adding(4, 3))
    assert met(known, 2) == [0, 1], "what is in the log already does not hold yet"
    assert met(known, 3) == [1, 2]
    assert met(known, 5) == [1, 2, 3]
    assert met(known, 2) == [0, 1], "a batch that comes again"
    fresh = _Registered(matching(log.file))
    assert [met(fresh, batch) for batch in (4, 3, 0)] == [[1, 2, 3], [1, 2], []]
    log.rewrite([adding(0, 5)])
    assert met(known, 5) == [5], "another log in its place"
    log.close()


def test_what_meets_nobody_makes_progress_and_marks_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = RegistrationLog(tmp_path / "log")
    log.append(adding(0, 3))
    monkeypatch.setattr(match, "_batch", lambda: 0)
    batch = pa.record_batch(
        {
            "item": pa.array([3, 4, 4, None, 3], pa.int32()),
            "__mark": pa.array([None, None, None, "{}", None]),
            "__at": pa.array([10, 20, None, None, 50], pa.int64()),
            "__left_out": pa.array([None, None, None, None, 50], pa.int64()),
        }
    )
    names = ("item", "__mark", "__at", "__left_out")
    work = Matching("2", log.file, matching(log.file).terms, "r", (("wanted", pa.int32(), "item"),), names, ("r",))
    rows = pa.Table.from_batches(list(work(iter([batch])))).to_pylist()
    assert [(row["item"], row["__mark"], row["__left_out"], row["r"]) for row in rows] == [
        (3, None, None, 3),
        (4, None, 20, None),
        (None, "{}", None, None),
        (3, None, 50, None),
    ]
    log.close()


def test_numbers_are_whole(tmp_path: Path) -> None:
    assert np.asarray(numbers_table([1, 2])[ID]).dtype == np.int64
    assert read_log(tmp_path / "none").entries == ()
