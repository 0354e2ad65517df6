"""The size of the Arrow batches that Spark sends to Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

MOST_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
UNBOUNDED = str(2**31 - 1)


@contextmanager
def bound_batches(spark: SparkSession, reduces: bool) -> Iterator[None]:
    """A query that is started meanwhile, and that reduces what it reads, has batches of Arrow bounded by rows alone.

    Spark measures a batch anew after every row that it puts in, which takes more time than all else that it does with
    the row. Where tuples travel to a stage as they are, that bound is needed: the packets of a task may be larger than
    a batch can hold.
    """
    before = spark.conf.get(MOST_BYTES)
    if reduces:
        spark.conf.set(MOST_BYTES, UNBOUNDED)
    try:
        yield
    finally:
        spark.conf.set(MOST_BYTES, str(before))
