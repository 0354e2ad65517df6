"""`csv:` files. Columns are found by the header's names, so their order in the file is free."""

from __future__ import annotations

import csv

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.definitions import Stream, Table
from millstream.catalog.schema import Column, Schema, sql_type
from millstream.errors import RunError
from millstream.spark.arrivals import RAW, Arrivals, spark_schema, with_raw
from millstream.spark.host import Host
from millstream.spark.paths import is_local, local_files
from millstream.spark.sources.files import followed, limited, source_path

UNSET = "\ue000"
"""Stands for an empty field while a line is parsed, so that it can be told from a quoted empty string."""


def text_options(options: dict[str, object]) -> dict[str, str]:
    """How a line of CSV is written (RFC 4180), in Spark's words."""
    null = str(options.get("null") or "")
    return {
        "sep": str(options["delimiter"]),
        "quote": '"',
        "escape": '"',
        "nullValue": null or UNSET,
        "emptyValue": "",
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": RAW,
    }


def stream(host: Host, stream: Stream, options: dict[str, object]) -> Arrivals:
    """The rows of files that are there and of files that appear."""
    assert stream.source is not None  # noqa: S101  (a stream without source is never opened)
    path = source_path(host, stream.source, f"stream {stream.name}")
    fields = _file_schema(path, stream.arriving, options, f"stream {stream.name}")
    schema = spark_schema(with_raw(fields))
    reader = limited(host.spark.readStream, options).options(**_file_options(options)).schema(schema)
    return Arrivals(reader.csv(followed(path)), "csv", F.col("_metadata.file_path"), fields, str(options["delimiter"]))


def table(host: Host, table: Table, options: dict[str, object]) -> DataFrame:
    """The rows of a stored table; one that does not parse is an error."""
    path = source_path(host, table.source, f"table {table.name}")
    schema = spark_schema(_file_schema(path, table.schema, options, f"table {table.name}"))
    reader = host.spark.read.options(**{**_file_options(options), "mode": "FAILFAST"}).schema(schema)
    return reader.csv(path).select(*[f"`{c.name}`" for c in table.schema])


def _file_options(options: dict[str, object]) -> dict[str, str]:
    return {
        **text_options(options),
        "header": str(options["header"]).lower(),
        # Every file's header must name the same columns in the same order, or the query stops and says so.
        "enforceSchema": "false",
        "multiLine": str(options["multiline"]).lower(),
    }


def _file_schema(path: str, declared: Schema, options: dict[str, object], owner: str) -> Schema:
    """The columns in the order of the files: declared ones with their types, others as text."""
    header = _header(path, str(options["delimiter"])) if options["header"] else None
    if header is None:
        return declared
    names = {name.lower() for name in header}
    for column in declared:
        if column.name.lower() not in names:
            raise RunError(
                f"{owner} declares the column {column.name}, and the header of {path} does not have it\n"
                f"help: it has {', '.join(header)}; for files without a header say OPTIONS (header = false)"
            )
    return Schema(declared.find(name) or Column(name, sql_type("string")) for name in header)


def _header(path: str, delimiter: str) -> list[str] | None:
    """The column names in the first file that has a line, None while there is no such file."""
    if not is_local(path):
        return None
    for file in local_files(path):
        with file.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            names = next(csv.reader(lines, delimiter=delimiter), None)
        if names:
            return names
    return None
