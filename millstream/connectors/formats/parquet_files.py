"""Parquet files read by Arrow, in the types that a stream declares; bad ones stop the query, or are found first."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

from millstream.connectors.places.aliases import real_path
from millstream.connectors.places.bad_files import AT_ONCE, BadFile, finding_damage, stop_at_bad_file
from millstream.connectors.places.paths import place_of
from millstream.spark.stage.ingress import CHUNK_ROWS


def read(path: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The columns of a file; those that it does not have are NULL. A bad file stops the query."""
    place = place_of(path)
    with stop_at_bad_file(real_path(place)):
        yield from _rows(_open_file(place), schema)


def read_whole(path: str, declared: pa.Schema, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The same of a file that is not bad: it is known before there is a row of it, whatever columns are wanted."""
    place = place_of(path)
    file = _open_file(place, checked=True)
    with finding_damage():
        groups = range(file.metadata.num_row_groups)
        size = sum(file.metadata.row_group(number).total_byte_size for number in groups)
    if size <= AT_ONCE:
        return iter([rows.select(schema.names) for rows in _rows(file, declared)])
    for _ in _rows(file, declared):
        pass
    return _rows(_open_file(place), schema)


def _open_file(place: str, checked: bool = False) -> pq.ParquetFile:
    with finding_damage():
        return pq.ParquetFile(place, coerce_int96_timestamp_unit="us", page_checksum_verification=checked)


def _rows(file: pq.ParquetFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    with finding_damage():
        known = {field.name.lower(): field for field in file.schema_arrow}
    found = {field.name: known[field.name.lower()] for field in schema if field.name.lower() in known}
    for name, field in found.items():
        if not _fits(field.type, schema.field(name).type):
            raise BadFile(f"column {name} is {field.type}, and the stream declares {schema.field(name).type}")
    names = [field.name for field in found.values()]
    with finding_damage():
        batches = file.iter_batches(CHUNK_ROWS, columns=names, use_threads=False)
    while (batch := _next_batch(batches)) is not None:
        yield pa.RecordBatch.from_arrays(
            [
                _cast_column(batch.column(found[field.name].name), field)
                if field.name in found
                else pa.nulls(batch.num_rows, field.type)
                for field in schema
            ],
            schema=schema,
        )


def _next_batch(batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    with finding_damage():
        return next(batches, None)


def _cast_column(column: pa.Array, field: pa.Field) -> pa.Array:
    if pt.is_timestamp(column.type) and column.type.unit == "ns":
        column = pc.floor_temporal(column, unit="microsecond").cast(pa.timestamp("us", column.type.tz), safe=False)
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as problem:
        raise BadFile(f"column {field.name} is not always {field.type}: {problem}") from None


def _fits(from_: pa.DataType, to: pa.DataType) -> bool:
    """Whether values of a type that stands in a file are of the declared type: as Spark has it."""
    if pt.is_dictionary(from_):
        return _fits(from_.value_type, to)
    if pt.is_null(from_):
        return True
    if pt.is_integer(from_):
        return _holds(from_, to)
    if pt.is_floating(from_):
        return bool(pt.is_floating(to) and from_.bit_width <= to.bit_width)
    if pt.is_timestamp(from_):
        return bool(pt.is_timestamp(to))
    if pt.is_decimal(from_) and pt.is_decimal(to):
        whole = from_.precision - from_.scale
        return bool(from_.scale <= to.scale and whole <= to.precision - to.scale)
    if pt.is_string(to):
        texts = (pt.is_string, pt.is_large_string, pt.is_string_view, pt.is_binary, pt.is_large_binary)
        return any(test(from_) for test in texts)
    return bool(from_ == to)


def _holds(from_: pa.DataType, to: pa.DataType) -> bool:
    """The same for whole numbers; Parquet has none of less than 32 bits, so small types are seen by the values."""
    if pt.is_integer(to):
        bits = from_.bit_width + (1 if pt.is_unsigned_integer(from_) else 0)
        return bool(bits <= max(to.bit_width, 32))
    return bool(pt.is_float64(to) and from_.bit_width <= 32)
