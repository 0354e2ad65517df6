"""Files that Python processes open: Spark only lists them."""

from __future__ import annotations

import uuid

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.readwriter import DataStreamReader

from millstream.connectors.files.arrow_ingress import FILES, PATH, ROWS, WRITTEN_SQL
from millstream.connectors.files.file_lists import FILES_SCHEMA
from millstream.spark.metrics import READ
from millstream.spark.stage.map_arrow import Arrow


def open_each(reader: DataStreamReader, function: Arrow, columns: str) -> DataFrame:
    """The rows that a function for mapInArrow makes of files, each with its path and the time it was written.

    Spark counts the files, and is told the rows.
    """
    files = reader.format("binaryFile").schema(FILES_SCHEMA).load()
    listed = _count_files(files, "sum(0)", "count(1)").select(PATH, F.expr(WRITTEN_SQL))
    return _count_files(listed.mapInArrow(function, columns), "count(1)", "sum(0)")


def _count_files(frame: DataFrame, rows: str, files: str) -> DataFrame:
    counts = F.expr(f"{rows} AS {ROWS}"), F.expr(f"{files} AS {FILES}")
    return frame.observe(f"{READ}{uuid.uuid4().hex[:8]}", *counts)
