"""The buckets of a query: numbers that Spark's hash spreads evenly over its tasks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from millstream.connectors.places.facts import TASKS
from millstream.spark.host import Host

_STARTING = threading.Lock()


def bucket_ids(host: Host, count: int | None) -> tuple[int, ...]:
    """The buckets of a query. They are chosen once: a key must find its state again, also on a larger machine."""
    if host.place is None:
        tasks = task_count(host.spark)
        wanted = count or tasks
        return even_bucket_ids(host.spark, max(wanted, tasks))[:wanted]
    known = host.place.load("buckets")
    if not known:
        wanted = count or task_count(host.spark)
        known = {str(number): bucket for number, bucket in enumerate(even_bucket_ids(host.spark, wanted))}
        host.place.save("buckets", known)
    return tuple(known[str(number)] for number in range(len(known)))


def task_count(spark: SparkSession) -> int:
    """How many tasks a stage has, unless a query says otherwise."""
    return int(str(spark.conf.get(TASKS)))


@contextmanager
def tasks_for(host: Host, buckets: int | None) -> Iterator[None]:
    """A query that is started meanwhile has one task for each of its buckets: Spark notes the number at its start."""
    with _STARTING:
        before = str(task_count(host.spark))
        host.spark.conf.set(TASKS, str(buckets or before))
        try:
            yield
        finally:
            host.spark.conf.set(TASKS, before)


@cache
def even_bucket_ids(spark: SparkSession, partitions: int) -> tuple[int, ...]:
    """As many bucket ids as there are shuffle partitions, each of which Spark's hash sends to another partition."""
    rows = (
        spark.range(64 * partitions)
        .select("id", F.expr(f"pmod(hash(cast(id AS INT)), {partitions})").alias("p"))
        .collect()
    )
    first: dict[int, int] = {}
    for row in rows:
        first.setdefault(int(row["p"]), int(row["id"]))
    return tuple(first[p] for p in sorted(first))
