"""`csv:` files. Columns are found by the header's names, so their order in the file is free."""

from __future__ import annotations

import csv
import uuid
from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import StructType

from millstream.catalog.definitions import Stream, Table
from millstream.catalog.schema import Column, Schema, sql_type
from millstream.connectors.arrivals import ORIGIN, RAW, Arrivals, spark_schema
from millstream.connectors.files.file_lists import rejects_bad_files, source_path, stream_reader, table_reader
from millstream.connectors.files.lines import LINE, csv_rows, with_origins
from millstream.connectors.files.open_files import open_each
from millstream.connectors.formats.csv_headers import MOST_COLUMNS, shorten_names
from millstream.connectors.formats.csv_records import RECORDS, records_of
from millstream.connectors.formats.text_files import LINES, TextFiles, header_of, text_rows
from millstream.connectors.places.bad_files import WAY_OUT, BadFile
from millstream.connectors.places.paths import is_local, is_parted, local_files
from millstream.errors import RunError
from millstream.spark.host import Host
from millstream.spark.metrics import READ
from millstream.spark.names import quoted
from millstream.spark.stage.arrival_order import FILE_SQL

UNSET = "\ue000"
"""Stands for an empty field while a line is parsed, so that it can be told from a quoted empty string."""

_UNCUT = {
    "sep": "\ue001",
    "quote": "\ue002",
    "escape": "\ue002",
    "comment": "\ue003",
    "nullValue": "\ue004",
    "emptyValue": "",
    "columnNameOfCorruptRecord": "\ue005",
    "encoding": "ISO-8859-1",
    "header": "true",
    "enforceSchema": "false",
}
"""Options with which Spark's reader of CSV takes each line for one field: in ISO 8859-1 every byte is a character, and
none of those that mean something is among them. It skips headers, after a look at them."""


def text_options(options: dict[str, object]) -> dict[str, str]:
    """How a line of CSV is written [RFC 4180], in Spark's words."""
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
    return _arrivals(host, stream, options, rejected=False)


def rejected(host: Host, stream: Stream, options: dict[str, object]) -> Arrivals:
    """The same with all lines of the files: Spark's reader of CSV leaves some of them out."""
    return _arrivals(host, stream, options, rejected=True)


def _arrivals(host: Host, stream: Stream, options: dict[str, object], rejected: bool) -> Arrivals:
    assert stream.source is not None  # noqa: S101  (a stream without source is never opened)
    path = source_path(host, stream.source, f"stream {stream.name}")
    judged = rejects_bad_files(stream, path)
    headers = _different(_headers(path)) if options["header"] and not judged else []
    header = headers[0] if len(headers) == 1 else None
    fields = _file_schema(header, path, stream.arriving_schema, options, f"stream {stream.name}")
    reader = stream_reader(host.spark, path, options, stream.name)
    text = {**text_options(options), "multiLine": str(options["multiline"]).lower()}
    several = bool(options["multiline"]) or (bool(options["header"]) and header is None)
    if judged or (several and is_local(path) and not is_parted(path)):
        return _open_files(stream, reader, options, text, judged, rejected)
    delimiter = str(options["delimiter"])
    first = (header or delimiter.join(fields.names)) if options["header"] else None
    with_headers = rejected and first is not None and not options["multiline"]
    if options["multiline"]:
        lines = _records(reader, first, delimiter)
    elif rejected:
        lines = with_origins(reader.format("text").load())
    elif first is None:
        lines = reader.format("text").load()
    else:
        lines = _below_headers(reader, first)
    frame = csv_rows(lines, fields, stream.arriving_schema, text)
    names = tuple(fields.names) if with_headers else ()
    return Arrivals(frame, "csv", F.col(ORIGIN), fields, delimiter, names, filed=bool(options["multiline"]))


def _open_files(
    stream: Stream,
    reader: DataStreamReader,
    options: dict[str, object],
    text: dict[str, str],
    judged: bool,
    rejected: bool,
) -> Arrivals:
    """The rows of files that we open ourselves, each with a header of its own."""
    columns, headed = stream.arriving_schema, bool(options["header"])
    how = TextFiles(
        tuple(columns.names) if headed else None,
        str(options["delimiter"]),
        multiline=bool(options["multiline"]),
        rejects=judged,
        explains=headed and rejected,
    )
    frame = csv_rows(open_each(reader, text_rows(how), LINES), columns, columns, text, opened=True)
    return Arrivals(frame, "csv", F.col(ORIGIN), columns, how.delimiter, filed=True, judged=judged, headed=headed)


def table(host: Host, table: Table, options: dict[str, object]) -> DataFrame:
    """The rows of a stored table; one that does not parse is an error."""
    path = source_path(host, table.source, f"table {table.name}")
    header = next(_headers(path), None) if options["header"] else None
    schema = spark_schema(_file_schema(header, path, table.schema, options, f"table {table.name}"))
    reader = table_reader(host.spark, path).options(**{**_file_options(options), "mode": "FAILFAST"}).schema(schema)
    return reader.format("csv").load().select(*[f"`{c.name}`" for c in table.schema])


def _below_headers(reader: DataStreamReader, header: str) -> DataFrame:
    """The lines of files without the headers, which must be all the same, or the query stops and says so."""
    name = header.encode().decode("latin-1")
    frame = reader.options(**_UNCUT).schema(StructType().add(name, "string")).format("csv").load()
    line = F.col(quoted(name))
    as_it_was = F.encode(line, "ISO-8859-1").cast("string")
    return frame.select(F.when(F.octet_length(line) == F.char_length(line), line).otherwise(as_it_was).alias(LINE))


def _records(reader: DataStreamReader, header: str | None, delimiter: str) -> DataFrame:
    """Lines, and several together where a quoted field holds their ends; each file is read in one piece."""
    whole = reader.option("wholetext", "true").format("text").load()
    files = whole.select(LINE, F.col("_metadata.file_path").alias(ORIGIN), F.expr(FILE_SQL))
    rows = files.mapInArrow(records_of(header, delimiter), RECORDS)
    counts = F.count(F.lit(1)).alias("rows"), F.sum("first").alias("files")
    return rows.observe(f"{READ}{uuid.uuid4().hex[:8]}", *counts).drop("first")


def _file_options(options: dict[str, object]) -> dict[str, str]:
    return {
        **text_options(options),
        "header": str(options["header"]).lower(),
        # Every file's header must name the same columns in the same order, or the query stops and says so.
        "enforceSchema": "false",
        "multiLine": str(options["multiline"]).lower(),
    }


def _file_schema(header: str | None, path: str, declared: Schema, options: dict[str, object], owner: str) -> Schema:
    """The columns in the order of the files: declared ones with their types, others as text."""
    if header is None:
        return declared
    try:
        names = next(csv.reader([header], delimiter=str(options["delimiter"])), [])
    except csv.Error as problem:
        raise RunError(f"{owner} reads {path}, whose first line is no header: {problem}") from None
    if len(names) > MOST_COLUMNS:
        raise RunError(
            f"{owner} reads {path}, whose header names {len(names):,} columns, and at most {MOST_COLUMNS:,} are read\n"
            f"help: the option delimiter is {options['delimiter']!r}; cut the file down if that is right"
        )
    lower = [name.lower() for name in names]
    for column in declared:
        if column.name.lower() not in lower:
            raise RunError(
                f"{owner} declares the column {column.name}, and the header of {path} does not have it\n"
                f"help: it has {shorten_names(names)}; for files without a header say OPTIONS (header = false)"
            )
        if lower.count(column.name.lower()) > 1:
            raise RunError(f"{owner} declares the column {column.name}, and the header of {path} has it more than once")
    return Schema(declared.find(name) or Column(name, sql_type("string")) for name in names)


def _different(headers: Iterator[str]) -> list[str]:
    """The headers without those that are equal for Spark: letter by letter, in any case."""
    found: dict[str, str] = {}
    for header in headers:
        found.setdefault(header.lower(), header)
    return list(found.values())


def _headers(path: str) -> Iterator[str]:
    """The headers of the files that are there, of those that have one."""
    for file in local_files(path) if is_local(path) else []:
        try:
            header = header_of(str(file))
        except BadFile as problem:
            raise RunError(f"{file}: {problem}\nhelp: {WAY_OUT}") from None
        if header is not None:
            yield header
