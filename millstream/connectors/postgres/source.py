"""`postgres:` tables: the rows of a table of PostgreSQL, as they are when a query or a micro-batch reads them."""

from __future__ import annotations

import os

from pyspark.sql import DataFrame

from millstream.catalog.definitions import Table
from millstream.connectors.arrivals import spark_schema
from millstream.connectors.postgres import reader as postgres_source
from millstream.errors import RunError
from millstream.spark.host import Host


def table(host: Host, table: Table, options: dict[str, object]) -> DataFrame:
    """The rows of a stored table; whether it is there, with these columns, is asked at once."""
    schema = spark_schema(table.schema)
    reach = {
        "table": table.name,
        "address": table.source.rest,
        "connectTimeout": str(options["connect_timeout"]),
        "readTimeout": str(options["read_timeout"]),
    }
    if password := _password(table.name, options["password_env"]):
        reach["password"] = password
    postgres_source.PostgresReader(schema, reach).check()
    postgres_source.register(host.spark)
    return host.spark.read.format(postgres_source.FORMAT).schema(schema).options(**reach).load()


def _password(name: str, variable: object) -> str | None:
    """Read here: the processes that read the rows see the environment in which Spark was started, or another's."""
    if variable is None:
        return os.environ.get("PGPASSWORD")
    try:
        return os.environ[str(variable)]
    except KeyError:
        # It does not say which: someone may have written the password itself there.
        raise RunError(
            f"table {name}: the variable that password_env names is not in the environment\n"
            "help: write the name of a variable, not the password, and set it before Millstream starts"
        ) from None
