"""Tallies of whole numbers: every way to count gives the same lines."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.aggregates import number_tally, sorting

ENTRY = pa.struct({"value": pa.int64(), "count": pa.int64()})
SPANS = (3, 1000, 2**40, 2**63 - 1)
"""Values that far from zero are counted in a table, sorted together with their groups, and ordered by both."""


@st.composite
def tuples(draw: st.DrawFn) -> list[tuple[int, int]]:
    limit = draw(st.sampled_from(SPANS))
    return draw(st.lists(st.tuples(st.integers(0, 2), st.integers(-limit - 1, limit)), max_size=30))


def lines(rows: list[tuple[int, int]]) -> list[list[list[int]]]:
    counts = [Counter(v for g, v in rows if g == group) for group in range(3)]
    return [[[value, count] for value, count in sorted(counter.items())] for counter in counts]


def arrays(rows: list[tuple[int, int]]) -> tuple[number_tally.Numbers, number_tally.Numbers]:
    return np.array([g for g, _ in rows], dtype=np.int64), np.array([v for _, v in rows], dtype=np.int64)


@given(rows=tuples())
def test_counted(rows: list[tuple[int, int]]) -> None:
    found = number_tally.counted(*arrays(rows), 3)
    assert [tally.tolist() for tally in found] == lines(rows)
    packed = number_tally.counted_packed(*arrays(rows), 3, ENTRY)
    assert packed.equals(number_tally.packed(found, ENTRY))


@given(left=tuples(), right=tuples())
def test_merged(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    parts = [number_tally.counted_packed(*arrays(rows), 3, ENTRY) for rows in (left, right)]
    whole = number_tally.merged_packed(pa.concat_arrays(parts), np.array([2, 1, 0, 2, 1, 0]), 3)
    assert [tally.tolist() for tally in whole] == lines(left + right)[::-1]
    added = number_tally.added(*(number_tally.unpacked(part) for part in parts))
    assert [tally.tolist() for tally in added] == lines(left + right)
    removed = number_tally.removed(added, number_tally.unpacked(parts[0]))
    assert [tally.tolist() for tally in removed] == lines(right)


@pytest.mark.parametrize("count", [0, 5, sorting.FEW + 1])
def test_numbers_in_order(count: int) -> None:
    numbers = np.random.default_rng(7).integers(-(2**62), 2**62, count)
    before = numbers.copy()
    found = sorting.in_order(numbers)
    assert found.tolist() == sorted(before.tolist())
    assert (numbers == before).all()
    found += 1  # it is the caller's own
