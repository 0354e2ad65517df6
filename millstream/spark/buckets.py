"""The buckets of a query: numbers that Spark's hash spreads evenly over its tasks."""

from __future__ import annotations

from functools import cache

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from millstream.spark.host import Host


def bucket_ids(host: Host) -> tuple[int, ...]:
    """The buckets of a query. They are chosen once: a key must find its state again, also on a larger machine."""
    if host.place is None:
        return even_bucket_ids(host.spark)
    known = host.place.load("buckets")
    if not known:
        known = {str(number): bucket for number, bucket in enumerate(even_bucket_ids(host.spark))}
        host.place.save("buckets", known)
    return tuple(known[str(number)] for number in range(len(known)))


@cache
def even_bucket_ids(spark: SparkSession) -> tuple[int, ...]:
    """As many bucket ids as there are shuffle partitions, each of which Spark's hash sends to another partition."""
    partitions = int(str(spark.conf.get("spark.sql.shuffle.partitions")))
    rows = (
        spark.range(64 * partitions)
        .select("id", F.expr(f"pmod(hash(cast(id AS INT)), {partitions})").alias("p"))
        .collect()
    )
    first: dict[int, int] = {}
    for row in rows:
        first.setdefault(int(row["p"]), int(row["id"]))
    return tuple(first[p] for p in sorted(first))
