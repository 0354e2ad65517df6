"""Logs of batches: nothing is lost or doubled in silence, whoever reads, and whenever the process dies."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import RunError
from millstream.store import batch_files, batch_log
from millstream.store.batch_log import BatchLog
from millstream.store.carry_log import carry_log
from millstream.store.position import Position

SCHEMA = pa.schema([("n", pa.int64())])
BATCHES = st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=12)


def rows(numbers: list[int]) -> pa.Table:
    return pa.table({"n": numbers}, schema=SCHEMA)


def filled(folder: Path, batches: list[list[int]], kept: int = 1000) -> BatchLog:
    log = BatchLog(SCHEMA, kept, folder)
    for number, numbers in enumerate(batches):
        log.add(rows(numbers), number)
    return log


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("logs")
    return lambda: Path(shutil.rmtree(root / "log", ignore_errors=True) or root / "log")


@given(batches=BATCHES, kept=st.integers(1, 20))
def test_kept_and_dropped_add_up_also_after_a_restart(folders, batches: list[list[int]], kept: int) -> None:
    folder = folders()
    everything = [n for numbers in batches for n in numbers]
    for log in (filled(folder, batches, kept), BatchLog(SCHEMA, kept, folder)):
        found = log.table()["n"].to_pylist()
        assert len(found) + log.dropped == len(everything)
        assert found == everything[len(everything) - len(found) :]
        assert len(found) <= max(kept, *map(len, batches), 0) if batches else not found


@given(batches=BATCHES, again=st.integers(0, 12))
def test_batches_that_come_again_count_once(folders, batches: list[list[int]], again: int) -> None:
    folder = folders()
    filled(folder, batches[: again + 1])
    log = BatchLog(SCHEMA, 1000, folder)
    for number, numbers in list(enumerate(batches))[again:]:
        log.add(rows(numbers[::-1]), number)  # in another order, as Spark may give them
    found = log.table()["n"].to_pylist()
    assert sorted(found) == sorted(n for numbers in batches for n in numbers)
    assert [n for b in batches[: again + 1] for n in b] == found[: sum(map(len, batches[: again + 1]))]


@given(batches=BATCHES, data=st.data())
def test_a_subscriber_goes_on_from_any_position(folders, batches: list[list[int]], data: st.DataObject) -> None:
    folder = folders()
    sign = filled(folder, batches).id
    places = [(Position(b, r, sign), n) for b, numbers in enumerate(batches) for r, n in enumerate(numbers)]
    cut = data.draw(st.integers(0, len(places)))
    after = places[cut - 1][0] if cut else None
    for log in (BatchLog(SCHEMA, 1000, folder), BatchLog(SCHEMA, 1000, folder)):
        log.close()
        subscription = log.subscribe(after)
        assert [n for table in subscription for n in table["n"].to_pylist()] == [n for _, n in places[cut:]]
        assert subscription.position == (places[-1][0] if places else None)


@pytest.mark.parametrize("killed", [False, True])
def test_many_batches_are_few_files_and_a_killed_merge_doubles_no_row(tmp_path: Path, monkeypatch, killed) -> None:
    monkeypatch.setattr(batch_files, "MANY", 3)
    if killed:  # each time between the merged file and the removal of those that it was made of
        monkeypatch.setattr(batch_log, "remove", list)
    filled(tmp_path, [[number] for number in range(100)])
    assert (len(list(tmp_path.glob("*.arrow"))) > 100) == killed
    assert BatchLog(SCHEMA, 1000, tmp_path).table()["n"].to_pylist() == list(range(100))
    assert len(list(tmp_path.glob("*.arrow"))) < 16


def test_trimmed_rows_are_told_of(tmp_path: Path) -> None:
    filled(tmp_path, [[1], [2, 3], [4, 5], [6]], kept=3)
    log = BatchLog(SCHEMA, 3, tmp_path)
    assert [t["n"].to_pylist() for t in log.subscribe(timeout=0)] == [[4, 5], [6]]
    assert [t["n"].to_pylist() for t in log.subscribe(Position(1, 1, log.id), timeout=0)] == [[4, 5], [6]]
    with pytest.raises(RunError, match=r"rows behind position 1.0.\w+ have been dropped, up to 1.1"):
        log.subscribe(Position(1, 0, log.id))
    with pytest.raises(RunError, match=r"no row at position 9.0.\w+: it has come to 3.0"):
        log.subscribe(Position(9, 0, log.id))


def test_a_slow_subscriber_is_told_what_it_has_missed(tmp_path: Path) -> None:
    log = BatchLog(SCHEMA, 2, tmp_path)
    log.add(rows([1]), 0)
    subscription = log.subscribe(timeout=1)
    assert next(subscription)["n"].to_pylist() == [1]
    for number in range(1, 9):
        log.add(rows([number]), number)
    with pytest.raises(RunError, match=r"rows behind position 0.0.\w+ have been dropped"):
        next(subscription)


def test_an_edited_query_drops_rows_of_other_columns_and_says_so(tmp_path: Path) -> None:
    filled(tmp_path, [[1], [2]])
    log = BatchLog(pa.schema([("x", pa.string())]), 10, tmp_path)
    assert (log.table().num_rows, log.dropped, log.last) == (0, 2, 1)
    assert log.add(pa.table({"x": ["a"]}), 2)
    with pytest.raises(RunError, match="have been dropped"):
        log.subscribe(Position(0, 0, log.id))
    assert BatchLog(pa.schema([("x", pa.string())]), 10, tmp_path).table()["x"].to_pylist() == ["a"]


def test_a_fresh_log_forgets_and_a_damaged_one_says_so(tmp_path: Path) -> None:
    filled(tmp_path, [[1]])
    assert BatchLog(SCHEMA, 10, tmp_path, fresh=True).table().num_rows == 0
    filled(tmp_path, [[1]])
    file = next(tmp_path.glob("*.arrow"))
    file.write_bytes(file.read_bytes()[:20])
    with pytest.raises(RunError, match="is damaged"):
        BatchLog(SCHEMA, 10, tmp_path)


def test_subscribers_in_threads_see_every_batch_once(tmp_path: Path) -> None:
    log = BatchLog(SCHEMA, 10_000, tmp_path)
    seen: list[list[int]] = [[] for _ in range(4)]

    def listen(mine: list[int]) -> None:
        mine.extend(n for table in log.subscribe() for n in table["n"].to_pylist())

    threads = [threading.Thread(target=listen, args=[mine]) for mine in seen]
    for thread in threads:
        thread.start()
    for number in range(200):
        log.add(rows([number]), number)
    log.close()
    for thread in threads:
        thread.join(10)
    assert seen == [list(range(200))] * 4


def test_a_subscription_ends_after_a_silence(tmp_path: Path) -> None:
    log = filled(tmp_path, [[1]])
    assert [t["n"].to_pylist() for t in log.subscribe(timeout=0.05)] == [[1]]


def test_a_position_of_another_log_is_refused(tmp_path: Path) -> None:
    log = filled(tmp_path / "q", [[1], [2]])
    position = log.end
    assert Position.parse(str(position)) == position
    carry_log(tmp_path / "q", tmp_path / "altered")  # what goes along keeps its positions
    altered = BatchLog(SCHEMA, 10, tmp_path / "altered")
    assert altered.id == log.id
    altered.add(rows([3]), 0)
    assert [t["n"].to_pylist() for t in altered.subscribe(position, timeout=0)] == [[3]]
    others = (
        filled(tmp_path / "other", [[1], [2]]),
        BatchLog(SCHEMA, 10, tmp_path / "q", fresh=True),
        BatchLog(SCHEMA, 10, tmp_path / "altered", fresh=True),
    )
    for other in others:
        with pytest.raises(RunError, match="is of another query, or of an earlier one of that name"):
            other.subscribe(position)
