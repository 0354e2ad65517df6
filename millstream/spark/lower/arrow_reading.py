"""Files that a stage reads by itself: Spark tells which files a batch has, and no tuple becomes a row of Spark."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema

from millstream.catalog.arrow import arrow_schema
from millstream.catalog.definitions import OnBadFile, Stream
from millstream.connectors.fed.feed_ingress import FeedReading
from millstream.connectors.files.arrow_ingress import (
    BAD_FILES,
    COUNTED_SCHEMA,
    FILES,
    PATH,
    ROWS,
    TABLE,
    WRITTEN_SQL,
    Reading,
    direct_ingress,
    pack,
)
from millstream.connectors.files.file_lists import FILES_SCHEMA, source_path, stream_reader
from millstream.connectors.history.log_ingress import LogReading
from millstream.connectors.history.source import log_reader, start_of
from millstream.connectors.registry import options_of
from millstream.plan.physical.nodes import ArrowRead, TableRows
from millstream.spark.host import Host
from millstream.spark.lower.lower import lower
from millstream.spark.metrics import READ
from millstream.spark.names import quoted
from millstream.spark.stage.ingress import Inlet
from millstream.spark.stage.map_arrow import map_in_arrow


def packets_of(read: ArrowRead, inlet: Inlet, number: int, host: Host) -> DataFrame:
    """The packets of a stream that is read into the stage of that number."""
    stream = read.scan.stream
    files = _files(stream, inlet.order is not None, host) if stream.keep is None else log_reader(host, stream).load()
    schemas = []
    for place, table in enumerate(read.tables):
        rows, schema = _rows(table, host)
        schemas.append(schema)
        packed = map_in_arrow(rows.coalesce(1), schema.names, pack(schema), f"{TABLE} BINARY")
        # An outer join: without a row of it there would be no files.
        files = files.join(F.broadcast(packed), F.lit(True), "left_outer").withColumnRenamed(TABLE, f"{TABLE}{place}")
    judged = stream.on_bad_file is OnBadFile.REJECT
    declared = arrow_schema(stream.arriving_schema) if judged else None
    made = FeedReading if stream.fed else Reading
    reading = made(read.read, str(stream.time), read.steps, tuple(schemas), declared)
    if stream.keep is not None:
        folder, start = host.history_of(stream.name), start_of(host, stream)
        reading = LogReading(read.read, str(stream.time), read.steps, tuple(schemas), folder=folder, since=start.time)
    packets = files.mapInArrow(direct_ingress(inlet, reading), COUNTED_SCHEMA)
    # Bad files, and rows of a log that were rejected, are counted where a query reads them first.
    counts = [ROWS, FILES, *([BAD_FILES] if (judged or stream.keep is not None) and not read.scan.again else [])]
    name = f"{READ}{number}.{inlet.feed}.{stream.name}"
    counted = packets.observe(name, *(F.sum(count).alias(count) for count in counts))
    return counted.select("bucket", "payload")


def _files(stream: Stream, ordered: bool, host: Host) -> DataFrame:
    """The names of the files of a stream; `ordered`, with the times at which they were written."""
    assert stream.source is not None  # noqa: S101  (it has files)
    path = source_path(host, stream.source, f"stream {stream.name}")
    reader = stream_reader(host.spark, path, options_of(stream), stream.name).format("binaryFile").schema(FILES_SCHEMA)
    files = reader.load()
    return files.select(PATH, F.expr(WRITTEN_SQL)) if ordered else files.select(PATH)


def _rows(table: TableRows, host: Host) -> tuple[DataFrame, pa.Schema]:
    """The rows of a table, and their schema as Spark sends them: it also says which columns have no NULL."""
    rows = lower(table.rows, host).select(*map(quoted, table.columns.names))
    schema = to_arrow_schema(rows.schema, timezone="UTC")
    if schema.types != table.columns.types:
        raise NotImplementedError(f"the rows of a table are {schema.types}, and were planned as {table.columns.types}")
    return rows, schema
