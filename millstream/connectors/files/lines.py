"""Lines of text to columns. Each line gives a row of columns or, where it does not parse, its own bytes in RAW.

Spark's readers of CSV and JSON pass over lines of control characters, over all that follows a complete JSON object, and
over quotes that are not closed. So they only cut files into lines; a line is parsed here, with something behind it that
must be seen again.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.schema import Column, Schema, sql_type, type_name
from millstream.connectors.arrivals import LENGTH, ORIGIN, RAW, START, TEXT, with_raw
from millstream.connectors.formats.rejection import BLANK, LINE_BYTES, MOST_DELIMITERS
from millstream.connectors.formats.text_files import FITS, ORDERED
from millstream.spark.names import quoted

LINE = "value"
"""The column of a frame of lines: the bytes as they came, which need not be UTF-8."""

FIELD_MARK = 1
"""The field that is put behind the last one of CSV: an open quote would swallow it."""

END_MARK = secrets.randbelow(1 << 31)
"""What is put behind an object of JSON, unknown to whoever writes the lines."""

_CHAR = re.compile(r"\b(VAR)?CHAR\(\d+\)")
_DOC, _END, _ROW = "__doc", "__end", "__row"


def csv_rows(
    lines: DataFrame, fields: Schema, wanted: Schema, options: Mapping[str, str], opened: bool = False
) -> DataFrame:
    """The wanted columns of lines that have these fields, and RAW; other columns than LINE stay.

    Lines of files that we have `opened` stand below headers of their own: it is known how their fields come in order.
    """
    line = F.col(LINE)
    sound = _readable() & ~line.contains("\0") & ~((line < "!") & (F.btrim(line, F.lit(BLANK)) == ""))
    sound &= _few_delimiters(options["sep"])
    # Only places matter here: names of the files' own may be anything.
    places = Schema(Column(f"f{place}", field.type) for place, field in enumerate(fields))
    schema = with_raw(Schema([*places, Column(_END, sql_type("int"))]))
    if opened:
        sound, line = sound & F.col(FITS), F.coalesce(F.col(ORDERED), line)
    text = F.concat(F.when(sound, line), F.lit(f"{options['sep']}{FIELD_MARK}"))
    options = {**options, "maxColumns": str(MOST_DELIMITERS + 2)}
    frame = (lines if opened else _drop_empty_lines(lines)).withColumn(_ROW, F.from_csv(text, _words(schema), options))
    named = {field.name.lower(): F.col(_ROW)[place.name] for field, place in zip(fields, places, strict=True)}
    columns = [named[column.name.lower()].alias(column.name) for column in wanted]
    return _split(frame, columns, sound & F.col(_ROW)[RAW].isNull())


def json_rows(lines: DataFrame, fields: Schema, options: Mapping[str, str], opened: bool = False) -> DataFrame:
    """The columns of lines that hold one object each, and RAW; other columns than LINE stay."""
    line = F.col(LINE)
    # Nothing follows an object that ends with the only brace that closes. Others go into an array, before a mark.
    plain = F.octet_length(F.substring_index(line, "}", 1)) == F.octet_length(line) - 1
    marked = F.concat(F.lit(f'{{"{_DOC}":['), line, F.lit(f',{{"{_END}":{END_MARK}}}]}}'))
    schema = f"{_words(fields)}, {_DOC} ARRAY<STRUCT<{_words(fields)}, {_END} INT>>, {RAW} STRING"
    text = F.when(_readable(), F.when(plain, line).otherwise(marked))
    frame = (lines if opened else _drop_empty_lines(lines)).withColumn(_ROW, F.from_json(text, schema, dict(options)))
    row = F.col(_ROW)
    alone = (F.size(row[_DOC]) == 2) & (row[_DOC][1][_END] == END_MARK) & row[_DOC][0].isNotNull()
    sound = row[RAW].isNull() & (plain | F.coalesce(alone, F.lit(False))) & row.isNotNull()
    columns = [F.when(plain, row[c.name]).otherwise(row[_DOC][0][c.name]).alias(c.name) for c in fields]
    return _split(frame, columns, sound)


def with_origins(lines: DataFrame) -> DataFrame:
    """The lines of files, each with its file and where in it the part begins that a task reads."""
    file = F.col("_metadata.file_path").alias(ORIGIN)
    return lines.select(LINE, file, F.col("_metadata.file_block_start").alias(START))


def _words(schema: Schema) -> str:
    """A schema in Spark's words. Its parsers of lines know no CHAR."""
    return ", ".join(f"{quoted(c.name)} {_CHAR.sub('STRING', type_name(c.type))}" for c in schema)


def _drop_empty_lines(lines: DataFrame) -> DataFrame:
    """The lines that hold anything: an empty line is no row."""
    return lines.filter(F.col(LINE) != "")


def _readable() -> SparkColumn:
    return (F.octet_length(LINE) <= LINE_BYTES) & F.is_valid_utf8(LINE)


def _few_delimiters(delimiter: str) -> SparkColumn:
    """Whether a line has room in the parser. Only a long one can have none."""
    rest = F.octet_length(F.replace(F.col(LINE), F.lit(delimiter)))
    many = (F.octet_length(LINE) - rest) > MOST_DELIMITERS * len(delimiter.encode())
    return (F.octet_length(LINE) <= MOST_DELIMITERS) | ~many


def _split(frame: DataFrame, columns: list[SparkColumn], sound: SparkColumn) -> DataFrame:
    kept = [F.col(quoted(name)) for name in frame.columns if name not in {LINE, ORDERED, FITS, _ROW}]
    # Of a line that is too long, only the beginning is kept.
    text = F.when(F.octet_length(LINE) > LINE_BYTES, F.substring(F.col(LINE).cast("binary"), 1, 1000).cast("string"))
    raw = F.when(~sound, F.coalesce(text, F.col(LINE)))
    return frame.select(*kept, *columns, raw.alias(RAW), F.octet_length(LINE).alias(LENGTH), F.col(LINE).alias(TEXT))
