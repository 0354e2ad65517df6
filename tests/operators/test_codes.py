"""Groups as numbers, and rows in their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.operators.codes import by_group_and_time, dense_groups

VALUES: list[tuple[pa.DataType, Any]] = [
    (pa.int64(), st.one_of(st.none(), st.integers(-3, 3))),
    (pa.int64(), st.sampled_from([-(2**62), 0, 2**62])),
    (pa.string(), st.sampled_from(["", "a", None])),
]


@given(data=st.data(), kinds=st.lists(st.sampled_from(VALUES), max_size=3), count=st.integers(0, 12))
def test_rows_are_in_one_group_if_all_columns_are_equal(data: st.DataObject, kinds: Any, count: int) -> None:
    columns = [data.draw(st.lists(values, min_size=count, max_size=count)) for _, values in kinds]
    keys = list(zip(*columns, strict=True)) if columns else [()] * count
    arrays = [pa.array(column, type_) for column, (type_, _) in zip(columns, kinds, strict=True)]
    groups, firsts = dense_groups(arrays, count)
    assert sorted(set(groups.tolist())) == list(range(len(set(keys)))) == list(range(len(firsts)))
    assert all((groups[i] == groups[j]) == (keys[i] == keys[j]) for i in range(count) for j in range(count))
    assert [keys.index(keys[first]) for first in firsts] == firsts.tolist()
    assert groups[firsts].tolist() == list(range(len(firsts)))


@pytest.mark.parametrize("scale", [1, 2**60])
@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=20), in_time=st.booleans())
def test_rows_by_group_and_time(scale: int, rows: list[tuple[int, int]], in_time: bool) -> None:
    rows = sorted(rows, key=lambda row: row[1]) if in_time else rows
    groups, times = (np.array([row[i] for row in rows], dtype=np.int64) for i in range(2))
    assert by_group_and_time(groups * scale, times).tolist() == sorted(range(len(rows)), key=lambda i: rows[i])
