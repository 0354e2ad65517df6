"""Several sinks that are fed by one reading: each gets its share of a batch, which is computed once."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.spark.sinks.batch_sink import BatchSink

SHARE = "__share"
"""Before the number of an output: the column with its row, NULL where the row is not for it."""


class SplitSink:
    """Each sink keeps a batch exactly once by itself, so that a batch that comes again may find some of them done."""

    def __init__(self, sinks: Sequence[BatchSink | None]) -> None:
        self._sinks = sinks

    def readied(self, frame: DataFrame) -> DataFrame:
        """The shares as they are: each sink readies its own."""
        return frame

    def write(self, frame: DataFrame, batch: int) -> int:
        """Give each sink its share."""
        kept = frame.persist()  # or every sink would compute the batch anew, and its state with it
        try:
            written = 0
            for number, sink in enumerate(self._sinks):
                share = f"{SHARE}{number}"
                rows = kept.filter(F.col(share).isNotNull()).select(f"{share}.*")
                if sink is None:
                    rows.write.format("noop").mode("append").save()
                else:
                    written += sink.write(sink.readied(rows), batch)
            return written
        finally:
            kept.unpersist()
