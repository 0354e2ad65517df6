"""The control stream: marks that reach a query like any data, exactly once, and only when they are sent.

It is a followed folder: an idle query lists it and runs no batch. A source written in Python would do the same, but
starts three Python processes per query.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

END = "end"
TICK = "tick"


def marks_of(spark: SparkSession, folder: Path) -> DataFrame:
    """The marks sent to a query, as a streaming frame with one text column."""
    folder.mkdir(parents=True, exist_ok=True)
    return spark.readStream.schema("value STRING").option("cleanSource", "delete").text(str(folder))


def enabling(stream: str, time: int) -> str:
    """An enabling time stamp: the mark that says that a silent stream has come to a time, in microseconds.

    >>> read_enabling(enabling("s", 5))
    ('s', 5)
    """
    return json.dumps([stream, time])


def read_enabling(word: str) -> tuple[str, int]:
    """The stream and the time of an enabling time stamp."""
    stream, time = json.loads(word)
    return str(stream), int(time)


def signal(folder: Path, word: str) -> None:
    """Send a mark: END ends the stream, as far as it is known; TICK says that the wall clock has moved on.

    The others are enabling time stamps.
    """
    name = f"{time.time_ns():020d}"  # never used again: Spark remembers the names it has read
    hidden = folder / f".{name}"
    hidden.write_text(f"{word}\n")
    hidden.rename(folder / f"{name}.mark")
