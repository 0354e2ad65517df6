"""The rows of stored tables and views, as they are now: files of Parquet that never change."""

from __future__ import annotations

from pyspark.sql import DataFrame

from millstream.catalog.definitions import Table
from millstream.connectors.arrivals import spark_schema
from millstream.connectors.places.aliases import folder_alias
from millstream.spark.host import Host


def table(host: Host, table: Table, options: dict[str, object]) -> DataFrame:
    """The rows of the newest version."""
    folder = host.stored.folder_of(table)
    return host.spark.read.schema(spark_schema(table.schema)).format("parquet").load(folder_alias(str(folder)))
