"""The state of a bucket in Spark: its blobs, and the version that they have."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from millstream.spark.stage.local_copy import LocalCopy
from millstream.spark.stage.pending_blobs import PendingBlobs


class BucketState:
    """What Spark keeps of a bucket, read from a local copy where that is of the right version."""

    def __init__(self, query: str, stage: int, bucket: int, blobs: Any, version: Any) -> None:
        self._blobs, self._version = blobs, version
        self._copy = LocalCopy(query, stage, bucket)
        known = version.get()
        self.version = int(known[0]) if known else 0

    def stored(self) -> Mapping[str, bytes | pa.Buffer]:
        """All blobs as they were after the last batch."""
        if not self.version:
            return {}
        copied = self._copy.load(self.version)
        if copied is not None:
            return copied
        stored = {str(k[0]): bytes(v[0]) for k, v in self._blobs.iterator()}
        self._copy.fill(self.version, stored)
        return stored

    def save(self, pending: PendingBlobs) -> int:
        """Write what has changed; the version that the blobs have now."""
        for name in pending.deletes:
            self._blobs.removeKey((name,))
        for name, blob in pending.puts.items():
            self._blobs.updateValue((name,), (blob,))
        # Drawn by lot, so that the state of a batch that failed is never taken for that of the one that took its place.
        new = secrets.randbelow(2**62) + 1
        self._version.update((new,))
        self._copy.save(self.version, new, pending.puts, pending.deletes)
        pending.settle()
        self.version = new
        return new
