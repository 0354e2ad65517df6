"""The contract of a sink. It is given whole micro-batches, and after a crash one of them again."""

from __future__ import annotations

from typing import Protocol

from pyspark.sql import DataFrame


class BatchSink(Protocol):
    """Takes micro-batches. After a crash the last one comes again under the same number, and must count once."""

    def prepare(self, frame: DataFrame) -> DataFrame:
        """The rows of the whole query as the sink can hold them: once here, not anew in each micro-batch."""
        ...

    def write(self, frame: DataFrame, batch: int) -> int:
        """Keep a micro-batch of prepared rows and say how many it had."""
        ...

    def close(self) -> None:
        """The query has ended: let go of what others may want. It may be said twice."""
        ...
