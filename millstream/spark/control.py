"""The control stream: marks that reach a query like any data, exactly once, and only when they are sent.

It is a followed folder: an idle query lists it and runs no batch. A source written in Python would do the same, but
starts three Python processes per query.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession


def marks_of(spark: SparkSession, folder: Path) -> DataFrame:
    """The marks sent to a query, as a streaming frame with one text column."""
    folder.mkdir(parents=True, exist_ok=True)
    return spark.readStream.schema("value STRING").text(str(folder))


def signal(folder: Path) -> None:
    """Send the mark that ends the stream, as far as it is known."""
    number = len(list(folder.glob("*.mark")))
    hidden = folder / f".{number:09d}"
    hidden.write_text("end\n")
    hidden.rename(folder / f"{number:09d}.mark")
