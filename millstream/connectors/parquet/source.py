"""`parquet:` files; rows in them are typed, so none is ever garbled.

Spark reads them, but for those with time stamps that are finer than it knows: these are read by Arrow.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.arrow import arrow_schema
from millstream.catalog.definitions import Stream, Table
from millstream.catalog.schema import Schema
from millstream.connectors.arrivals import RAW, Arrivals, ddl, spark_schema
from millstream.connectors.files.arrow_ingress import ORIGIN, PATH, WRITTEN_SQL, rows_of
from millstream.connectors.files.file_lists import rejects_bad_files, source_path, stream_reader, table_reader
from millstream.connectors.files.open_files import open_each
from millstream.connectors.places.bad_files import BAD
from millstream.connectors.places.paths import is_local, is_parted, local_files
from millstream.spark.host import Host
from millstream.spark.stage.arrival_order import FILE_DDL


def stream(host: Host, stream: Stream, options: dict[str, object]) -> Arrivals:
    """The rows of files that are there and of files that appear."""
    assert stream.source is not None  # noqa: S101  (a stream without source is never opened)
    path = source_path(host, stream.source, f"stream {stream.name}")
    reader = stream_reader(host.spark, path, options, stream.name)
    nothing = F.lit(None).cast("string")
    judged = rejects_bad_files(stream, path)
    if judged or _is_for_arrow(path, stream.arriving_schema, empty=True):
        frame = open_each(
            reader, rows_of(arrow_schema(stream.arriving_schema), judged), _columns(stream.arriving_schema, judged)
        )
        return Arrivals(
            frame.withColumn(RAW, nothing), None, F.col(ORIGIN), stream.arriving_schema, filed=True, judged=judged
        )
    frame = reader.schema(spark_schema(stream.arriving_schema)).format("parquet").load()
    return Arrivals(frame.withColumn(RAW, nothing), None, F.col("_metadata.file_path"), stream.arriving_schema)


def table(host: Host, table: Table, options: dict[str, object]) -> DataFrame:
    """The rows of a stored table."""
    path = source_path(host, table.source, f"table {table.name}")
    reader = table_reader(host.spark, path)
    if _is_for_arrow(path, table.schema, empty=False):
        files = reader.format("binaryFile").load().select(PATH, F.expr(WRITTEN_SQL))
        return files.mapInArrow(rows_of(arrow_schema(table.schema)), _columns(table.schema)).drop(ORIGIN)
    return reader.schema(spark_schema(table.schema)).format("parquet").load()


def _is_for_arrow(path: str, schema: Schema, empty: bool) -> bool:
    """Whether there are files that Spark cannot read, and Arrow can; `empty` is said of a place without any."""
    columns = arrow_schema(schema)
    times = {field.name.lower() for field in columns if pt.is_timestamp(field.type)}
    if not times or len(columns) < len(schema) or not is_local(path) or is_parted(path):
        return False
    files = local_files(path)
    if any("=" in str(file) for file in files):  # a pattern may lead into folders that are named after values
        return False
    return any(_has_nanoseconds(file, times) for file in files) if files else empty


def _has_nanoseconds(file: Path, times: set[str]) -> bool:
    """Whether there are time stamps that are finer than Spark can read; what is damaged says so when it is read."""
    try:
        schema = pq.read_schema(file)
    except (OSError, pa.ArrowException):
        return False
    return any(f.name.lower() in times and pt.is_timestamp(f.type) and f.type.unit == "ns" for f in schema)


def _columns(schema: Schema, judged: bool = False) -> str:
    """The columns of rows that Arrow has read."""
    return f"{ddl(schema)}, {f'{BAD} STRING, ' if judged else ''}{ORIGIN} STRING, {FILE_DDL}"
