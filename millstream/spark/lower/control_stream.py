"""The control stream as Spark reads it."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from millstream.connectors.files.file_lists import stream_reader
from millstream.spark.stage.control_words import MAX_AGE


def marks_of(spark: SparkSession, folder: Path, one_by_one: bool) -> DataFrame:
    """The marks sent to a query, as a streaming frame with one text column; `one_by_one`, a batch has one of them."""
    folder.mkdir(parents=True, exist_ok=True)
    reader = stream_reader(spark, str(folder)).schema("value STRING")
    reader = reader.option("cleanSource", "delete").option("maxFileAge", MAX_AGE)
    return (reader.option("maxFilesPerTrigger", "1") if one_by_one else reader).format("text").load()
