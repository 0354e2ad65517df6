"""Kept results: nothing is lost in silence, and those who wait are told."""

from __future__ import annotations

import threading

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.mill.results import Results

SCHEMA = pa.schema([("n", pa.int64())])


def batch(numbers: list[int]) -> pa.Table:
    return pa.table({"n": numbers}, schema=SCHEMA)


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=5), max_size=12), st.integers(1, 20))
def test_kept_and_dropped_add_up_and_the_newest_are_kept(batches: list[list[int]], kept: int) -> None:
    results = Results(SCHEMA, kept)
    for numbers in batches:
        results.add(batch(numbers))
    everything = [n for numbers in batches for n in numbers]
    found = results.table()["n"].to_pylist()
    assert len(found) + results.dropped == len(everything)
    assert found == everything[len(everything) - len(found) :]
    assert len(found) <= max(kept, len(batches[-1]) if batches else 0)


def test_subscribers_see_old_and_new_batches_and_the_end() -> None:
    results = Results(SCHEMA, 100)
    results.add(batch([1]))
    seen: list[list[int]] = []

    def listen() -> None:
        seen.extend(t["n"].to_pylist() for t in results.subscribe())

    threads = [threading.Thread(target=listen) for _ in range(2)]
    for thread in threads:
        thread.start()
    results.add(batch([2, 3]))
    results.close()
    for thread in threads:
        thread.join(10)
    assert sorted(seen) == [[1], [1], [2, 3], [2, 3]]


def test_a_subscription_ends_after_a_silence() -> None:
    results = Results(SCHEMA, 100)
    results.add(batch([1]))
    assert [t["n"].to_pylist() for t in results.subscribe(timeout=0.05)] == [[1]]
