"""Packets: a key always goes to the same bucket, whatever travels with it, and payloads come out as they went in."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.spark.stage.packets import TaskProgress, scatter, seal, unseal

KEYS: list[tuple[pa.DataType, list[object]]] = [
    (pa.int32(), [0, 1, -5, 7, None]),
    (pa.int64(), [0, 2**62, -3, None]),
    (pa.float64(), [0.0, 1.5, -2.25, None]),
    (pa.string(), ["", "a", "bc", None]),
    (pa.bool_(), [True, False, None]),
    (pa.date32(), [date(2024, 2, 29), date(1969, 1, 1), None]),
    (pa.timestamp("us", tz="UTC"), [datetime(2024, 1, 1, tzinfo=UTC), None]),
    (pa.decimal128(10, 2), [Decimal("1.50"), Decimal("-3.00"), None]),
]


@pytest.mark.parametrize(("type_", "values"), KEYS, ids=lambda v: str(v) if isinstance(v, pa.DataType) else "")
@given(data=st.data(), buckets=st.integers(1, 7))
def test_the_bucket_of_a_key_depends_on_nothing_else(
    type_: pa.DataType, values: list[object], data: st.DataObject, buckets: int
) -> None:
    alone = {}
    for value in values:
        parts = scatter(pa.table({"k": pa.array([value], type_)}), ["k"], buckets)
        alone[value] = next(b for b, part in enumerate(parts) if part.num_rows)
    rows = data.draw(st.lists(st.sampled_from(values), max_size=12))
    parts = scatter(pa.table({"k": pa.array(rows, type_)}), ["k"], buckets)
    assert sum(part.num_rows for part in parts) == len(rows)
    for bucket, part in enumerate(parts):
        assert all(alone[value] == bucket for value in part["k"].to_pylist())


def test_equal_numbers_are_equal_keys() -> None:
    parts = scatter(pa.table({"k": [0.0, -0.0]}), ["k"], 7)
    assert max(part.num_rows for part in parts) == 2


@pytest.mark.parametrize(
    "progress",
    [
        TaskProgress(),
        TaskProgress(5, 2),
        TaskProgress(final=(None,), ticks=True),
        TaskProgress(promises=((None, 7), (3, 9)), final=(0, 3)),
    ],
)
def test_payloads(progress: TaskProgress) -> None:
    table = pa.table({"a": [1, None], "b": ["x", "y"]})
    found, told = unseal(seal(table, progress))
    assert (found.to_pydict(), told) == (table.to_pydict(), progress)


def test_promises_to_groups_travel_beside_the_data() -> None:
    groups = pa.table({"k": ["a", None], "__time": [1, 2]})
    _, told = unseal(seal(pa.table({}), TaskProgress(groups=groups)))
    assert told.groups is not None
    assert told.groups.equals(groups)


def test_every_nan_goes_to_the_same_bucket() -> None:
    other = np.array([np.nan, -np.nan, np.frombuffer(b"\x01\x00\x00\x00\x00\x00\xf8\x7f", np.float64)[0]])
    parts = scatter(pa.table({"x": other}), ["x"], 7)
    assert max(part.num_rows for part in parts) == 3
