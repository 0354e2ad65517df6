"""A sink over several sinks: the input is computed once, and each sink gets its share."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.connectors.writing.batch_sink import BatchSink
from millstream.plan.split import SHARE

AT_ONCE = 4
"""So many sinks are written side by side: a small share costs hardly more than Spark's planning of it."""


class SplitSink:
    """Each sink keeps a batch exactly once by itself, so that a batch that comes again may find some of them done."""

    def __init__(self, sinks: Sequence[BatchSink | None]) -> None:
        self._sinks = sinks

    def prepare(self, frame: DataFrame) -> DataFrame:
        """The shares as they are: each sink readies its own."""
        return frame

    def write(self, frame: DataFrame, batch: int) -> int:
        """Give each sink its share."""
        kept = frame.persist()  # or every sink would compute the batch anew, and its state with it
        try:
            # The first one computes the batch, which only this thread can: Spark knows by it whose state it is.
            written = self._give(kept, 0, batch)
            give = inheritable_thread_target(kept.sparkSession)(self._give)
            with ThreadPoolExecutor(AT_ONCE) as pool:
                others = [pool.submit(give, kept, number, batch) for number in range(1, len(self._sinks))]
            return written + sum(int(other.result()) for other in others)
        finally:
            kept.unpersist()

    def close(self) -> None:
        """Close all sinks."""
        for sink in self._sinks:
            if sink is not None:
                sink.close()

    def _give(self, kept: DataFrame, number: int, batch: int) -> int:
        share = f"{SHARE}{number}"
        rows = kept.filter(F.col(share).isNotNull()).select(f"{share}.*")
        sink = self._sinks[number]
        if sink is None:
            rows.write.format("noop").mode("append").save()
            return 0
        return sink.write(sink.prepare(rows), batch)
