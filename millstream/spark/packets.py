"""Packets: what travels between the parts of a query, one row per bucket and task, whatever the query."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
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
        place = place * np.uint64(31) + _hashes(table[name].combine_chunks())
    place %= np.uint64(buckets)
    return [table.filter(pa.array(place == np.uint64(b))) for b in range(buckets)]


def _hashes(column: pa.Array) -> npt.NDArray[np.uint64]:
    """A hash of each value that depends on the value alone.

    NULLs are hashed apart: a column of integers with a NULL in it would become one of floats on its way to pandas.
    """
    type_ = column.type
    values: npt.NDArray[Any]
    if pa.types.is_floating(type_):
        values = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64) + 0.0  # -0.0 becomes 0.0
    elif pa.types.is_string(type_) or pa.types.is_decimal(type_):
        values = column.cast(pa.string()).fill_null("").to_numpy(zero_copy_only=False)
    else:
        if pa.types.is_date(type_):
            column = column.cast(pa.int32())
        values = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    hashes: npt.NDArray[np.uint64] = pd.util.hash_array(values)
    valid: npt.NDArray[np.uint64] = column.is_valid().to_numpy(zero_copy_only=False).astype(np.uint64)
    return hashes + valid
