"""The stored catalog: what is put in is there again, versions and all, and a change that fails has not happened."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import RunError
from millstream.mill.stored.catalog_store import DROPPING, FORMAT, RUNNING, STOPPED, CatalogStore, Entry

Q = Entry("query", "query", "q", "CREATE QUERY q AS SELECT 1", "/base", {"settings": {"buckets": "3"}}, "q", RUNNING)


def opened(tmp_path: Path) -> CatalogStore:
    return CatalogStore(tmp_path / "catalog.db")


def test_an_entry_is_there_again(tmp_path: Path) -> None:
    store = opened(tmp_path)
    made = store.put(Q)
    assert (made.id, made.version) == (1, 1)
    assert replace(made, id=0, version=0, created="", changed="") == Q
    store.close()
    again = opened(tmp_path)
    assert again.entries() == [made]
    assert again.find(("query", "q")) == made
    assert again.find(("sink", "q")) is None
    again.close()


def test_what_changes_the_substance_is_a_version(tmp_path: Path) -> None:
    store = opened(tmp_path)
    made = store.put(Q)
    stopped = store.put(replace(made, wanted=STOPPED, pending=DROPPING))
    assert (stopped.version, stopped.created) == (1, made.created)
    assert store.put(stopped).changed == stopped.changed
    altered = store.put(replace(stopped, text="CREATE QUERY q AS SELECT 2"))
    renamed = store.put(replace(altered, name="p"))
    assert [(v.number, v.name, v.text[-8:]) for v in store.versions(renamed)] == [
        (1, "q", "SELECT 1"),
        (2, "q", "SELECT 2"),
        (3, "p", "SELECT 2"),
    ]
    assert store.find(("query", "q")) is None
    store.restore(stopped)
    assert store.entries() == [stopped]
    assert [v.number for v in store.versions(stopped)] == [1]
    store.remove(stopped)
    assert (store.entries(), store.versions(stopped)) == ([], [])
    assert store.put(Q).id > stopped.id  # an id is never used again
    store.close()


def test_a_transaction_that_fails_has_not_happened(tmp_path: Path) -> None:
    store = opened(tmp_path)
    made = store.put(Q)

    def change() -> None:
        with store.transaction():
            store.put(replace(made, text="other"))
            store.put(replace(Q, name="r"))
            with store.transaction():
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change()
    assert store.entries() == [made]
    with pytest.raises(RunError, match="UNIQUE"):
        store.put(Q)
    assert store.entries() == [made]
    store.close()


@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "remove", "rename", "fail"]), st.sampled_from("abc"), st.sampled_from("abc")),
        max_size=20,
    )
)
def test_it_is_what_a_dictionary_would_be(steps: list[tuple[str, str, str]]) -> None:
    store, model = CatalogStore(Path(":memory:")), dict[str, str]()
    for what, name, other in steps:
        found = store.find(("query", name))
        if what == "remove" and found is not None:
            store.remove(found)
            del model[name]
        elif what == "rename" and found is not None and other not in model:
            store.put(replace(found, name=other))
            model[other] = model.pop(name)
        elif what == "put":
            store.put(replace(found or replace(Q, name=name), text=other))
            model[name] = other
        elif what == "fail":
            with pytest.raises(ZeroDivisionError):
                _fail_within(store, replace(found or replace(Q, name=name), text="lost"))
    assert {entry.name: entry.text for entry in store.entries()} == model
    store.close()


def _fail_within(store: CatalogStore, entry: Entry) -> None:
    with store.transaction():
        store.put(entry)
        raise ZeroDivisionError


def test_a_damaged_or_later_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_text("this is no database, and long enough to be looked at" * 99)
    with pytest.raises(RunError, match=r"the catalog .* cannot be used: file is not a database\nhelp: bring it back"):
        opened(tmp_path)
    (tmp_path / "catalog.db").unlink()
    db = sqlite3.connect(tmp_path / "catalog.db")
    db.execute(f"PRAGMA user_version = {FORMAT + 1}")
    db.close()
    with pytest.raises(RunError, match="was written by a later version"):
        opened(tmp_path)


KILLED = """
import itertools, sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from millstream.mill.stored.catalog_store import CatalogStore, Entry
store = CatalogStore(Path(sys.argv[1]))
for number in itertools.count():
    with store.transaction():
        for name in "ab":
            found = store.find(("query", name)) or Entry("query", "query", name, "")
            store.put(replace(found, text=str(number)))
    print(number, flush=True)
"""


def test_killed_it_has_all_that_was_said_or_one_change_more(tmp_path: Path) -> None:
    for kill in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path / "catalog.db")], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(5 + 7 * kill)][-1]
        os.kill(process.pid, signal.SIGKILL)
        rest = process.stdout.read().split()
        process.wait()
        last = int(rest[-1]) if rest and rest[-1].isdigit() else int(said)
        store = opened(tmp_path)
        texts = {entry.text for entry in store.entries()}
        assert len(texts) == 1  # both or none
        assert int(texts.pop()) >= last
        store.close()


def test_an_entry_that_is_damaged_is_told(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put(Q)
    with sqlite3.connect(tmp_path / "catalog.db") as db:
        db.execute("UPDATE definition SET details = '{'")
    with pytest.raises(RunError, match=r"catalog\.db cannot be used: .*\nhelp: bring it back"):
        store.entries()
    store.close()


def test_a_full_disk_is_told_as_that(tmp_path: Path) -> None:
    store = opened(tmp_path)
    made = store.put(Q)
    with full_files(4096), pytest.raises(RunError, match="disk I/O error\nhelp: make room on its disk"):
        store.put(replace(Q, name="other", text="x" * 50_000))
    assert store.find(Q.key) == made
    store.put(replace(made, text="CREATE QUERY q AS SELECT 2"))
    store.close()


@contextmanager
def full_files(size: int) -> Iterator[None]:
    """As on a full disk, no file can become longer."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
