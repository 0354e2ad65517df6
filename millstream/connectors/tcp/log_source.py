"""A landing log as a Spark source: `spark.readStream.format("millstream_log").option("path", directory)`."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from millstream.connectors.tcp import landing_log
from millstream.errors import RunError, SettingError

FORMAT = "millstream_log"
MAX_BYTES_PER_TRIGGER = 256 << 20
# Below this, starting one more task costs more than it gains.
PARTITION_BYTES = 4 << 20

_SCHEMA = pa.schema([("value", pa.string())])
Offset = dict[str, int]


def register(spark: SparkSession) -> None:
    """Make the format known to a session."""
    spark.dataSource.register(LogSource)


class LogSource(DataSource):
    """The lines of a landing log, as a stream or as what is there now.

    Options: `path`, the directory of the log; `maxBytesPerTrigger`, how much one batch takes at most, to
    the next line end; `maxPartitions`, into how many tasks a large batch is split.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FORMAT

    def schema(self) -> str:
        """One line, one row."""
        return "value STRING"

    def reader(self, schema: StructType) -> LogReader:
        """Reads the lines that are in the log now."""
        return LogReader(self.options)

    def streamReader(self, schema: StructType) -> LogStreamReader:  # noqa: N802 (Spark's name)
        """Reads on as the log grows."""
        return LogStreamReader(self.options)


@dataclass
class LogRange(InputPartition):
    """A part of the log for one task; only where it meets other parts may its ends be inside a line."""

    start: int
    stop: int


class _Lines:
    """What both readers share: the options, the split into tasks and the way from bytes to rows."""

    def __init__(self, options: Mapping[str, str]) -> None:
        if "path" not in options:
            raise SettingError(f"'{FORMAT}' needs the option 'path': the directory of the log")
        self.directory = options["path"]
        self.max_bytes = _positive(options, "maxBytesPerTrigger", MAX_BYTES_PER_TRIGGER)
        self.max_partitions = _positive(options, "maxPartitions", max(2, min(8, os.cpu_count() or 2)))

    def split(self, start: int, stop: int) -> list[InputPartition]:
        """Parts of about the same size; a small range stays whole."""
        count = max(1, min(self.max_partitions, (stop - start) // PARTITION_BYTES))
        cuts = [start + (stop - start) * i // count for i in range(count + 1)]
        return [LogRange(a, b) for a, b in itertools.pairwise(cuts)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The lines of one part."""
        part = cast("LogRange", partition)
        # Neighbours move the cut between them to the same line end, each by itself.
        start = landing_log.line_end(self.directory, part.start)
        stop = landing_log.line_end(self.directory, part.stop)
        for chunk in landing_log.read(self.directory, start, stop):
            yield record_batch(chunk)


class LogReader(_Lines, DataSourceReader):
    """Reads the lines that are in the log when the query is planned."""

    def partitions(self) -> list[InputPartition]:
        """The parts to read; at least one, if only an empty one."""
        return self.split(landing_log.begin(self.directory), landing_log.end(self.directory))


class LogStreamReader(_Lines, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the log batch by batch; offsets are positions, and always line ends."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._target: int | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 (Spark's name)
        """The first position that the log holds."""
        return {"position": landing_log.begin(self.directory)}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 (Spark's name)
        """As much as the option allows."""
        return ReadMaxBytes(self.max_bytes)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 (Spark's name)
        """Remember the end of the log: this run goes no further."""
        self._target = landing_log.end(self.directory)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 (Spark's name)
        """The line end where the next batch stops."""
        position = start["position"]
        stop = landing_log.end(self.directory) if self._target is None else self._target
        if stop < position:
            raise RunError(
                f"the log '{self.directory}' ends at position {stop}, and this query has read to {position}: "
                "it is not the log that the checkpoint knows; bring that one back or use a new checkpoint"
            )
        if isinstance(limit, ReadMaxBytes) and stop - position > limit.max_bytes:
            stop = min(stop, landing_log.line_end(self.directory, position + limit.max_bytes))
        return {"position": stop}

    def reportLatestOffset(self) -> Offset:  # noqa: N802 (Spark's name)
        """The end of the log, for the progress report."""
        return {"position": landing_log.end(self.directory)}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """The parts of one batch."""
        if start["position"] >= end["position"]:
            return []
        return self.split(start["position"], end["position"])


def record_batch(chunk: bytes) -> pa.RecordBatch:
    r"""Whole lines as rows, whatever bytes they hold: those that are not UTF-8 are rejected where lines are parsed.

    >>> record_batch(b"one\ntwo\n").to_pydict()
    {'value': ['one', 'two']}
    """
    newlines = np.flatnonzero(np.frombuffer(chunk, np.uint8) == ord("\n"))
    # Without its newlines the text is what Arrow wants: values end to end.
    offsets = np.zeros(len(newlines) + 1, np.int32)
    offsets[1:] = newlines - np.arange(len(newlines))
    text = pa.py_buffer(chunk.translate(None, b"\n"))
    lines = pa.StringArray.from_buffers(len(newlines), pa.py_buffer(offsets.data), text)
    return pa.RecordBatch.from_arrays([lines], schema=_SCHEMA)


def _positive(options: Mapping[str, str], name: str, otherwise: int) -> int:
    text = options.get(name, str(otherwise))
    if not text.isdigit() or int(text) == 0:
        raise SettingError(f"the option '{name}' is '{text}': write a whole number above 0")
    return int(text)
