"""The base of operators without aggregates: it collects the tuples of a batch that are not late."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc

from millstream.operators.blobs import Blobs
from millstream.operators.contract import Operator
from millstream.operators.window_aggregate_job import TIME


class OnTime(Operator):
    """Judges tuples by the low-watermark as it was before their batch, and remembers that."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        record = blobs.get("progress")
        self.low_watermark: int | None = json.loads(record)["low_watermark"] if record else None
        self._fresh: list[pa.Table] = []

    @property
    def promise(self) -> int | None:
        """The low-watermark."""
        return self.low_watermark

    def process(self, table: pa.Table, port: int = 0) -> int:
        """Take in tuples; says how many are late. Those without a time have no place anywhere: they count so."""
        times = table[TIME]
        # What is compared with NULL is NULL, and a filter drops it.
        wanted = pc.is_valid(times) if self.low_watermark is None else pc.greater_equal(times, self.low_watermark)
        on_time = table.filter(wanted)
        if on_time.num_rows:
            self._fresh.append(on_time)
        return int(table.num_rows - on_time.num_rows)

    def _move(self, time: int) -> None:
        if self.low_watermark is None or time > self.low_watermark:
            self.low_watermark = time
            self._blobs.put("progress", json.dumps({"low_watermark": time}).encode())
