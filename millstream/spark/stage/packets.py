"""Packets: rows that travel from ingress to a stage, one per task and bucket, the same for every query."""

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
from millstream.spark.stage.arrival_order import Runs, pack_runs, unpack_runs

PACKET_SCHEMA = "bucket INT, payload BINARY"
PACKET_FIELDS = pa.schema([pa.field("bucket", pa.int32()), pa.field("payload", pa.binary())])
META = b"millstream"
GROUPS = b"groups"
BUSY = b"busy"
RUNS = b"runs"


@dataclass(frozen=True)
class TaskProgress:
    """What a task saw of a stream: the ends of its time stamps, promises, and whether this was the end.

    `feed` is the number of the input of the stage that it speaks of; None: of all sources that the stage reads.
    `promises` are of buckets of the stage before (origin, time), or of the whole stream (None, time). `final` are the
    origins that have ended; a source has the origin None. `groups` are promises for groups: a row per promise, see
    progress/group_table.py; `None` if there are none. `busy` are the places that the inlet says tuples came to.
    `rejected` is how many tuples were out of bounds. `tuples` are those that came to the exchange, and `micros` the
    microseconds that the task worked on them before. `runs` are the pieces of the input that the tuples come from, if
    their order matters.
    """

    newest: int | None = None
    oldest: int | None = None
    promises: tuple[tuple[int | None, int], ...] = ()
    final: tuple[int | None, ...] = ()
    ticks: bool = False
    groups: pa.Table | None = None
    feed: int | None = 0
    busy: pa.Array | None = None
    rejected: int = 0
    tuples: int = 0
    micros: int = 0
    runs: Runs = ()


def seal(table: pa.Table, progress: TaskProgress) -> bytes:
    """Data and progress as the payload of a packet."""
    counts = [progress.feed, progress.rejected, progress.tuples, progress.micros]
    said = [progress.newest, progress.oldest, progress.promises, progress.final, progress.ticks, *counts]
    meta = {META: json.dumps(said).encode()}
    if progress.groups is not None:
        meta[GROUPS] = to_bytes(progress.groups)
    if progress.busy is not None:
        meta[BUSY] = progress.busy.to_numpy().tobytes()
    if progress.runs:
        meta[RUNS] = pack_runs(progress.runs)
    return to_bytes(table.replace_schema_metadata(meta))


def unseal(payload: bytes) -> tuple[pa.Table, TaskProgress]:
    """What a payload holds."""
    table = from_bytes(payload)
    newest, oldest, promises, final, ticks, feed, rejected, tuples, micros = json.loads(table.schema.metadata[META])
    groups = table.schema.metadata.get(GROUPS)
    busy = table.schema.metadata.get(BUSY)
    runs = table.schema.metadata.get(RUNS)
    return table.replace_schema_metadata(None), TaskProgress(
        newest,
        oldest,
        tuple((origin, time) for origin, time in promises),
        tuple(final),
        ticks,
        None if groups is None else from_bytes(groups),
        feed,
        None if busy is None else pa.array(np.frombuffer(busy, dtype=np.int64)),
        rejected,
        tuples,
        micros,
        () if runs is None else unpack_runs(runs),
    )


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
        values[np.isnan(values)] = np.nan  # there are many, and all of them are equal
    elif pa.types.is_string(type_) or pa.types.is_decimal(type_):
        values = column.cast(pa.string()).fill_null("").to_numpy(zero_copy_only=False)
    elif pa.types.is_binary(type_):
        values = column.fill_null(b"").to_numpy(zero_copy_only=False)
    else:
        if pa.types.is_date(type_):
            column = column.cast(pa.int32())
        values = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    hashes: npt.NDArray[np.uint64] = pd.util.hash_array(values)
    valid: npt.NDArray[np.uint64] = column.is_valid().to_numpy(zero_copy_only=False).astype(np.uint64)
    return hashes + valid
