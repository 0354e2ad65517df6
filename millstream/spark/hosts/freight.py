"""Freight, the rows between the tasks of a host: packets for its stage, rows of members, metrics, failures."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import pyarrow as pa


class Kind(StrEnum):
    """What a piece of freight is."""

    PACKET = "packet"  # for a state; for all of them, if it has no name
    ROWS = "rows"  # of a member
    MARK = "mark"  # what a bucket says of a state
    REJECTED = "rejected"  # how many tuples members without a state do not take, as they are too far ahead
    FAILED = "failed"  # why a member, or a state, goes no further


class Piece(NamedTuple):
    """One piece: for or of whom, what it is, and its bytes."""

    who: str
    kind: str
    payload: bytes


FREIGHT_SCHEMA = "bucket INT, who STRING, kind STRING, payload BINARY"
FREIGHT_FIELDS = pa.schema(
    [("bucket", pa.int32()), ("who", pa.string()), ("kind", pa.string()), ("payload", pa.binary())]
)
PIECE_SCHEMA = "who STRING, kind STRING, payload BINARY"


def pack_freight(pieces: Sequence[tuple[int, Piece]]) -> pa.RecordBatch:
    """Pieces for buckets as a batch of Arrow."""
    columns = [[bucket for bucket, _ in pieces], *([piece[n] for _, piece in pieces] for n in range(3))]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, FREIGHT_FIELDS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=FREIGHT_FIELDS)


def encode_failure(problem: Exception) -> bytes:
    """A failure in the words in which Spark would tell it."""
    return f"Traceback (most recent call last):\n  in a task\n{_type(problem)}: {problem}".encode()


def _type(problem: Exception) -> str:
    kind = type(problem)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
