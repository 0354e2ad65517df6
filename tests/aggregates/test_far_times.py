"""Aggregates over dates and time stamps of years that Python does not know: as over the numbers that these are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from millstream.aggregates.contract import Aggregate
from millstream.aggregates.registry import BUILT_IN
from tests.aggregates.arguments import bindings

FAR = {
    pa.timestamp("us", "UTC"): ([2**61, None, -(2**61), 253_402_300_800_000_000, 2**61, 0], pa.int64()),
    pa.date32(): ([2**30, None, -(2**30), 2_932_897, 2**30, 0], pa.int32()),
}
BOUND = [(cls, found) for cls in BUILT_IN for found in bindings(cls) if any(kind in FAR for kind in found)]


def numbers(aggregate: Aggregate, arguments: list[pa.Array]) -> object:
    """The answer, by way of packed states of two halves, with times as numbers."""
    groups, times = np.zeros(3, dtype=np.int64), np.arange(3)
    parts = []
    for half in (slice(0, 3), slice(3, 6)):
        state = aggregate.reduce(aggregate.zero(1), groups, [a[half] for a in arguments], times + half.start)
        parts.append(aggregate.unpack(aggregate.pack(state)))
    found = aggregate.finish(aggregate.merge(*parts))
    if pa.types.is_list(found.type):
        found = found.flatten()
    plain = FAR.get(found.type)
    return found.cast(plain[1]).to_pylist() if plain else found.to_pylist()


@pytest.mark.parametrize(("cls", "kinds"), BOUND, ids=lambda v: getattr(v, "name", None) or str(v))
def test_answers(cls: type[Aggregate], kinds: tuple[pa.DataType, ...]) -> None:
    texts = ["a", "b", "c", "d", "e", "f"]
    given = [FAR.get(kind, (texts if pa.types.is_string(kind) else [0.5] * 6, kind)) for kind in kinds]
    plain = [pa.array(values, type_) for values, type_ in given]
    arguments = [array.cast(kind) for array, kind in zip(plain, kinds, strict=True)]
    assert numbers(cls(kinds), arguments) == numbers(cls([array.type for array in plain]), plain)
