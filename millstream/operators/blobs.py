"""The state of operators: named blobs, few and large."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa
import pyarrow.ipc


class Blobs(Protocol):
    """A small store of bytes by name; what hosts an operator gives it one per bucket."""

    def get(self, name: str) -> bytes | None:
        """The blob of that name, None if there is none."""
        ...

    def put(self, name: str, blob: bytes) -> None:
        """Keep a blob."""
        ...

    def delete(self, name: str) -> None:
        """Forget a blob, which need not exist."""
        ...

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes | pa.Buffer]]:
        """All blobs whose names begin so, by name."""
        ...


class MemoryBlobs:
    """Blobs in memory: for tests and bounded work."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def get(self, name: str) -> bytes | None:
        """The blob of that name, None if there is none."""
        return self.blobs.get(name)

    def put(self, name: str, blob: bytes) -> None:
        """Keep a blob."""
        self.blobs[name] = blob

    def delete(self, name: str) -> None:
        """Forget a blob."""
        self.blobs.pop(name, None)

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """All blobs whose names begin so, by name."""
        for name in sorted(self.blobs):
            if name.startswith(prefix):
                yield name, self.blobs[name]


SMALL = 4096
"""Tables of no more bytes are not worth compressing."""

_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


def to_bytes(table: pa.Table) -> bytes:
    """A table as Arrow IPC; compressed, as that takes no longer than the copies that are made of it on its way."""
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema, options=_COMPRESSED if table.nbytes > SMALL else None) as writer:
        writer.write_table(table.combine_chunks())
    return out.getvalue()


def from_bytes(blob: bytes | pa.Buffer) -> pa.Table:
    """The table that was written."""
    with pa.ipc.open_stream(blob if isinstance(blob, pa.Buffer) else pa.py_buffer(blob)) as reader:
        return reader.read_all()
