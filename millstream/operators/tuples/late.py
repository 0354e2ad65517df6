"""The side output LATE: the tuples that come behind the low-watermark of their stream."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from millstream.operators.blobs import Blobs
from millstream.operators.contract import Operator
from millstream.operators.window_aggregate_job import TIME
from millstream.progress.punctuation import Punctuation


class LateTuples(Operator):
    """Lets late tuples pass and drops the others; all it remembers is the low-watermark."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        record = blobs.get("progress")
        self.low_watermark: int | None = json.loads(record)["low_watermark"] if record else None
        self._waiting: list[pa.Table] = []

    def process(self, table: pa.Table, port: int = 0) -> int:
        """Judge tuples by the low-watermark as it was before this batch; says how many are late."""
        if self.low_watermark is None or not table.num_rows:
            return 0
        late = table.filter(pc.less(table[TIME], self.low_watermark))
        if late.num_rows:
            self._waiting.append(late.drop_columns([TIME]))
        return int(late.num_rows)

    def punctuate(self, punctuation: Punctuation) -> Iterator[pa.Table]:
        """The late tuples of this batch; the low-watermark then moves. The end of a stream does not make it move."""
        if punctuation.group:
            return
        yield from self.end_batch()
        if not punctuation.final and (self.low_watermark is None or punctuation.time > self.low_watermark):
            self.low_watermark = punctuation.time
            self._blobs.put("progress", json.dumps({"low_watermark": punctuation.time}).encode())

    def end_batch(self) -> Iterator[pa.Table]:
        """The late tuples of a batch that has brought no progress: they are not kept."""
        waiting, self._waiting = self._waiting, []
        yield from waiting

    @property
    def promise(self) -> int | None:
        """Nothing can be said of late tuples."""
        return None
