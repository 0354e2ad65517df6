"""Aggregate states that are kept per partition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from millstream.aggregates.contract import Aggregate, State, take
from millstream.operators.blobs import Blobs, from_bytes, to_bytes
from millstream.operators.codes import Numbers
from millstream.operators.key_index import KeyIndex


class Totals:
    """What is left of tuples that have gone: for each partition, the states of aggregates over all it has had."""

    def __init__(
        self, partition: Sequence[tuple[str, pa.DataType]], aggregates: Sequence[Aggregate], blobs: Blobs
    ) -> None:
        self._index = KeyIndex([n for n, _ in partition], [t for _, t in partition], blobs, "partitions/")
        self._aggregates = list(aggregates)
        self._blobs = blobs
        record = blobs.get("totals")
        self._states = [a.zero(0) for a in aggregates] if record is None else self._unpack(from_bytes(record))

    def find(self, rows: pa.Table) -> Numbers:
        """The numbers of the partitions of tuples; new ones have seen nothing."""
        numbers = self._index.find(rows)
        for i, (aggregate, state) in enumerate(zip(self._aggregates, self._states, strict=True)):
            rest = aggregate.zero(len(self._index) - len(state[0]))
            self._states[i] = tuple(np.concatenate(c) for c in zip(state, rest, strict=True))
        return numbers

    def of(self, nth: int, numbers: Numbers) -> State:
        """The states of the nth aggregate for some partitions."""
        return take(self._states[nth], numbers)

    def add(self, nth: int, numbers: Numbers, arguments: Sequence[pa.Array], times: Numbers) -> None:
        """Let the nth aggregate see more tuples."""
        self._states[nth] = self._aggregates[nth].reduce(self._states[nth], numbers, arguments, times)

    def save(self) -> None:
        """Write the states."""
        data: dict[str, pa.Array] = {}
        for i, (aggregate, state) in enumerate(zip(self._aggregates, self._states, strict=True)):
            data.update((f"{i}_{j}", column) for j, column in enumerate(aggregate.pack(state)))
        self._blobs.put("totals", to_bytes(pa.table(data)))

    def _unpack(self, table: pa.Table) -> list[State]:
        return [
            a.unpack([table[f"{i}_{j}"].combine_chunks() for j in range(len(a.components))])
            for i, a in enumerate(self._aggregates)
        ]
