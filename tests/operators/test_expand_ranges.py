"""Ranges spread out, against a loop."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from millstream.operators.expand_ranges import expand_ranges


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3)), max_size=20))
def test_every_position_of_every_range_is_told(ranges: list[tuple[int, int]]) -> None:
    begin = np.array([b for b, _ in ranges], dtype=np.int64)
    counts = np.array([c for _, c in ranges], dtype=np.int64)
    numbers, positions = expand_ranges(begin, counts)
    wanted = [(number, b + i) for number, (b, c) in enumerate(ranges) for i in range(c)]
    assert list(zip(numbers.tolist(), positions.tolist(), strict=True)) == wanted
