"""Copies of state in files: used only if they are of the right version, and never needed."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from millstream.spark.stage.local_copy import LocalCopy, copies_of, forget_copies


@pytest.fixture
def query() -> Iterator[str]:
    name = uuid4().hex
    yield name
    forget_copies(name)
    assert not copies_of(name).exists()


def blobs(copy: LocalCopy, version: int) -> dict[str, bytes] | None:
    found = copy.load(version)
    return None if found is None else {name: blob.to_pybytes() for name, blob in found.items()}


def test_a_copy_follows_its_bucket(query: str) -> None:
    copy = LocalCopy(query, 1, 4)
    assert blobs(copy, 7) is None
    copy.save(0, 7, {"pane/1": b"one", "pane/2": b"two"}, ())
    assert blobs(copy, 7) == {"pane/1": b"one", "pane/2": b"two"}
    copy.save(7, 9, {"pane/3": b"three", "pane/2": b""}, {"pane/1"})
    assert blobs(copy, 9) == {"pane/2": b"", "pane/3": b"three"}
    assert blobs(copy, 7) is None
    assert blobs(LocalCopy(query, 2, 4), 9) is None


def test_what_is_read_stays_readable_while_it_is_replaced(query: str) -> None:
    copy = LocalCopy(query, 1, 4)
    copy.save(0, 1, {"a": b"old" * 1000}, ())
    before = copy.load(1)
    copy.save(1, 2, {"a": b"new"}, ())
    assert before is not None
    assert before["a"].to_pybytes() == b"old" * 1000


def test_a_copy_that_missed_a_version_is_dropped_until_it_is_filled(query: str) -> None:
    copy = LocalCopy(query, 1, 4)
    copy.save(0, 1, {"a": b"1"}, ())
    copy.save(5, 6, {"b": b"2"}, ())
    assert blobs(copy, 6) is None
    assert blobs(copy, 1) is None
    copy.fill(6, {"a": b"1", "b": b"2"})
    assert blobs(copy, 6) == {"a": b"1", "b": b"2"}
