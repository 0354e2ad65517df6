"""The stage: hosts an operator in Spark's transformWithState, one bucket at a time, with its state as blobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from millstream.operators.blobs import Blobs, to_bytes
from millstream.operators.contract import Operator
from millstream.progress.punctuation import Punctuation
from millstream.spark.packets import unseal

OUTPUT_SCHEMA = "payload BINARY, late BIGINT"


class PendingBlobs:
    """Blobs of a bucket: read from Spark's state once, and written back at the end of a batch."""

    def __init__(self, stored: dict[str, bytes]) -> None:
        self._stored = stored
        self.puts: dict[str, bytes] = {}
        self.deletes: set[str] = set()

    def get(self, name: str) -> bytes | None:
        """The blob of that name, None if there is none."""
        return self.puts.get(name, self._stored.get(name))

    def put(self, name: str, blob: bytes) -> None:
        """Keep a blob."""
        self.puts[name] = blob
        self.deletes.discard(name)

    def delete(self, name: str) -> None:
        """Forget a blob."""
        self.puts.pop(name, None)
        self.deletes.add(name)

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """All blobs whose names begin so, by name."""
        now = {**{n: b for n, b in self._stored.items() if n not in self.deletes}, **self.puts}
        yield from ((name, now[name]) for name in sorted(now) if name.startswith(prefix))

    def settle(self) -> None:
        """Begin anew after everything has been written; what was read is no longer needed."""
        self._stored = {}
        self.puts = {}
        self.deletes = set()


_CACHE: dict[tuple[str, int], tuple[int, Operator, PendingBlobs]] = {}
"""The operators that this process has run, by query and bucket, each with the version of its state."""


class Stage(StatefulProcessor):
    """Runs the operator of a query over the packets of a batch: all data first, then the progress they carry."""

    def __init__(self, query: str, make: Callable[[Blobs], Operator], slack: int) -> None:
        self._query = query
        self._make = make
        self._slack = slack

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark calls this before the first bucket."""
        self._blobs = handle.getMapState("blobs", "name STRING", "blob BINARY")
        self._version = handle.getValueState("version", "version BIGINT")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Spark calls this with all packets of a bucket in a batch."""
        known = self._version.get()
        version = int(known[0]) if known else 0
        operator, pending = self._load(int(key[0]), version)
        newest: int | None = None
        final = False
        late = 0
        for frame in rows:
            for payload in frame["payload"]:
                table, progress = unseal(bytes(payload))
                if table.num_columns:  # a mark carries nothing but progress
                    late += operator.process(table)
                final |= progress.final
                if progress.newest is not None:
                    newest = progress.newest if newest is None else max(newest, progress.newest)
        answers: list[pa.Table] = []
        if newest is not None:
            answers += operator.punctuate(Punctuation(newest - self._slack))
        if final:
            answers += operator.punctuate(Punctuation(0, final=True))
        self._save(pending)
        self._version.update((version + 1,))
        _CACHE[(self._query, int(key[0]))] = (version + 1, operator, pending)
        payload = to_bytes(pa.concat_tables(answers)) if answers else None
        yield pd.DataFrame({"payload": pd.Series([payload], dtype=object), "late": pd.Series([late], dtype="int64")})

    def close(self) -> None:
        """Spark calls this after the last bucket."""

    def _load(self, bucket: int, version: int) -> tuple[Operator, PendingBlobs]:
        """The operator as it was after the last batch. Spark may run a bucket anywhere: a cache must prove its age."""
        # Taken out until the batch is done: an operator that was left in the middle of one must not be used again.
        cached = _CACHE.pop((self._query, bucket), None)
        if cached and cached[0] == version:
            return cached[1], cached[2]
        stored = {str(k[0]): bytes(v[0]) for k, v in self._blobs.iterator()} if version else {}
        pending = PendingBlobs(stored)
        return self._make(pending), pending

    def _save(self, pending: PendingBlobs) -> None:
        for name in pending.deletes:
            self._blobs.removeKey((name,))
        for name, blob in pending.puts.items():
            self._blobs.updateValue((name,), (blob,))
        pending.settle()
