"""A log as a Spark source whose offsets are positions. Its rows are ranges of positions, which tasks read themselves.

Spark's own source of files cannot do this: files of a log are compacted and trimmed under it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from millstream.errors import RunError
from millstream.history.index import Index

FORMAT = "millstream_history"
START, STOP = "start", "stop"
MOST_ROWS = 4 << 20
"""How many rows one batch takes at most, while a query catches up."""

PARTITION_ROWS = 1 << 17
"""Below this, starting one more task costs more than it gains."""

_SCHEMA = pa.schema([(START, pa.int64()), (STOP, pa.int64())])
Offset = dict[str, Any]


def register(spark: SparkSession) -> None:
    """Make the format known to a session."""
    spark.dataSource.register(LogSource)


class LogSource(DataSource):
    """The positions of a log, as a stream or as a bounded range.

    Options: `path`, the folder of the log, and the `stream`; `start` and for a bounded range `stop`, where a stream
    goes no further either; `maxRows`, how much one batch takes. As long as there is a file `hold`, a stream goes no
    further than to the position that it names for the stream, and stays where it is if it names none.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FORMAT

    def schema(self) -> str:
        """One range, one row."""
        return f"{START} BIGINT, {STOP} BIGINT"

    def reader(self, schema: StructType) -> RangeReader:
        """Gives the ranges of a bounded part."""
        return RangeReader(self.options)

    def streamReader(self, schema: StructType) -> RangeStreamReader:  # noqa: N802 (Spark's name)
        """Gives ranges as the log grows."""
        return RangeStreamReader(self.options)


@dataclass
class LogRange(InputPartition):
    """Positions for one task."""

    start: int
    stop: int


class _Ranges:
    """What both readers share: the options, and how a range is split into tasks."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.index = Index(Path(options["path"]))
        self.start = int(options["start"])
        self.options = options
        self.most_rows = int(options.get("maxRows", MOST_ROWS))

    def split(self, start: int, stop: int) -> list[InputPartition]:
        """Ranges of about the same size, in order; a small one stays whole."""
        count = max(1, min(os.cpu_count() or 2, (stop - start) // PARTITION_ROWS))
        cuts = [start + (stop - start) * i // count for i in range(count + 1)]
        return [LogRange(a, b) for a, b in pairwise(cuts)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The range itself."""
        part = cast("LogRange", partition)
        if part.start < part.stop:
            yield pa.RecordBatch.from_pydict({START: [part.start], STOP: [part.stop]}, schema=_SCHEMA)


class RangeReader(_Ranges, DataSourceReader):
    """A part of a log that is known when the query is planned."""

    def partitions(self) -> list[InputPartition]:
        """Its ranges."""
        return self.split(self.start, int(self.options["stop"]))


class RangeStreamReader(_Ranges, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a log on from its start."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._target: int | None = None
        self._stop = int(options["stop"]) if "stop" in options else None
        self._hold = Path(options["hold"]) if "hold" in options else None

    def initialOffset(self) -> Offset:  # noqa: N802 (Spark's name)
        """Where the query begins: said when it was created, so that it is the same however often that is asked."""
        return self._at(self.start)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 (Spark's name)
        """As many rows as the option allows."""
        return ReadMaxRows(self.most_rows)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 (Spark's name)
        """Remember the end of the log: this run goes no further."""
        self._target = self._end

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 (Spark's name)
        """The position where the next batch stops."""
        position, stop = int(start["position"]), int(self.reportLatestOffset()["position"])
        if stop < position:
            raise RunError(
                f"the history in {self.index.folder} ends at position {stop}, and this query has read to {position}: "
                "it is not the one that the checkpoint knows\n"
                "help: bring that one back, or start the query under another name"
            )
        if (held := self._held) is not None:
            stop = max(position, min(stop, held))
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else stop - position
        return self._at(min(stop, position + most))

    def reportLatestOffset(self) -> Offset:  # noqa: N802 (Spark's name)
        """The end of the log, or of the run."""
        return self._at(self._end if self._target is None else self._target)

    @property
    def _held(self) -> int | None:
        """Where to stay for now; None if nobody holds this reader back."""
        try:
            said = None if self._hold is None else self._hold.read_text()
        except FileNotFoundError:
            said = None
        return None if said is None else int(json.loads(said).get(self.options["stream"], 0))

    @property
    def _end(self) -> int:
        """The end of the log, as far as this reader goes."""
        end = self.index.extent.end
        return end if self._stop is None else min(end, self._stop)

    def _at(self, position: int) -> Offset:
        """An offset tells its stream: what is trimmed depends on how far each query has read."""
        return {"position": position, "stream": self.options["stream"]}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """The ranges of one batch."""
        if start["position"] >= end["position"]:
            return []
        return self.split(start["position"], end["position"])
