"""Files that a stage reads by itself: Spark tells which files a batch has, and no tuple becomes a row of Spark."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema

from millstream.catalog.arrow import arrow_schema
from millstream.catalog.definitions import OnBadFile
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
    assert stream.source is not None  # noqa: S101  (it has files)
    path = source_path(host, stream.source, f"stream {stream.name}")
    reader = stream_reader(host.spark, path, options_of(stream), stream.name).format("binaryFile").schema(FILES_SCHEMA)
    files = reader.load()
    files = files.select(PATH) if inlet.order is None else files.select(PATH, F.expr(WRITTEN_SQL))
    schemas = []
    for place, table in enumerate(read.tables):
        rows, schema = _rows(table, host)
        schemas.append(schema)
        packed = map_in_arrow(rows.coalesce(1), schema.names, pack(schema), f"{TABLE} BINARY")
        # An outer join: without a row of it there would be no files.
        files = files.join(F.broadcast(packed), F.lit(True), "left_outer").withColumnRenamed(TABLE, f"{TABLE}{place}")
    judged = stream.on_bad_file is OnBadFile.REJECT
    declared = arrow_schema(stream.arriving) if judged else None
    reading = Reading(read.read, str(stream.time), read.steps, tuple(schemas), declared)
    packets = files.mapInArrow(direct_ingress(inlet, reading), COUNTED_SCHEMA)
    # Bad files are counted where a query reads them first.
    counts = [ROWS, FILES, *([BAD_FILES] if judged and not read.scan.again else [])]
    name = f"{READ}{number}.{inlet.feed}.{stream.name}"
    counted = packets.observe(name, *(F.sum(count).alias(count) for count in counts))
    return counted.select("bucket", "payload")


def _rows(table: TableRows, host: Host) -> tuple[DataFrame, pa.Schema]:
    """The rows of a table, and their schema as Spark sends them: it also says which columns have no NULL."""
    rows = lower(table.rows, host).select(*map(quoted, table.columns.names))
    schema = to_arrow_schema(rows.schema, timezone="UTC")
    if schema.types != table.columns.types:
        raise NotImplementedError(f"the rows of a table are {schema.types}, and were planned as {table.columns.types}")
    return rows, schema
