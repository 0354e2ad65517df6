"""Egress: the packets that leave a stage to typed rows."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from millstream.operators.blobs import from_bytes


def egress(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A function for mapInArrow from (payload, late) to the rows in the payloads."""
    for batch in batches:
        for payload in batch.column("payload"):
            if payload.is_valid:
                yield from from_bytes(payload.as_py()).to_batches(max_chunksize=100_000)
