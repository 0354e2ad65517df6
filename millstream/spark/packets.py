"""Packets: what travels between the parts of a query, one row per bucket and task, whatever the query."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from millstream.operators.blobs import from_bytes, to_bytes

PACKET_SCHEMA = "bucket INT, payload BINARY"
PACKET_FIELDS = pa.schema([pa.field("bucket", pa.int32()), pa.field("payload", pa.binary())])
META = b"millstream"


@dataclass(frozen=True)
class Progress:
    """What a task saw of a stream: its newest time stamp, and whether this was the end."""

    newest: int | None = None
    final: bool = False


def seal(table: pa.Table, progress: Progress) -> bytes:
    """Data and progress as the payload of a packet."""
    meta = json.dumps({"newest": progress.newest, "final": progress.final}).encode()
    return to_bytes(table.replace_schema_metadata({META: meta}))


def unseal(payload: bytes) -> tuple[pa.Table, Progress]:
    """What a payload holds."""
    table = from_bytes(payload)
    return table, Progress(**json.loads(table.schema.metadata[META]))


def packets(rows: Sequence[tuple[int, bytes]]) -> pa.RecordBatch:
    """Packets as a batch of Arrow."""
    buckets = pa.array([b for b, _ in rows], pa.int32())
    return pa.RecordBatch.from_arrays([buckets, pa.array([p for _, p in rows], pa.binary())], schema=PACKET_FIELDS)


def scatter(table: pa.Table, keys: Sequence[str], buckets: int) -> list[pa.Table]:
    """The rows of each bucket: rows with equal keys always go to the same one, on any machine."""
    if buckets == 1:
        return [table]
    place = np.zeros(table.num_rows, dtype=np.uint64)
    for name in keys:
        column = table[name].to_pandas()
        hashed = pd.util.hash_pandas_object(column, index=False).to_numpy()
        place = place * np.uint64(31) + hashed
    place %= np.uint64(buckets)
    return [table.filter(pa.array(place == np.uint64(b))) for b in range(buckets)]
