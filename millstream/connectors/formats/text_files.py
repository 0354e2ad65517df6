"""Text files read by Python: their lines or records, each file with a header of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.formats.csv_headers import Order
from millstream.connectors.formats.csv_records import records
from millstream.connectors.formats.rejection import BLANK, LINE_BYTES
from millstream.connectors.formats.text_blocks import BOM, blocks_of, lines_of
from millstream.connectors.places.aliases import real_path
from millstream.connectors.places.bad_files import BAD, BadFile, stop_at_bad_file
from millstream.connectors.places.paths import place_of
from millstream.spark.stage.arrival_order import FILE_DDL, FILE_FIELD
from millstream.spark.stage.garbage_collector import freeze_imported_modules

ORDERED = "__ordered"
"""The fields of a line in the order of the stream; NULL where the line has them so."""

FITS = "__fits"
"""Whether a line has as many fields as its header."""

HEADER = "__header"
"""The header above a line, where it is asked for."""

LINES = f"value STRING, {ORDERED} STRING, {FITS} BOOLEAN, {HEADER} STRING, {BAD} STRING, __origin STRING, {FILE_DDL}"
_NAMES = ["value", ORDERED, FITS, HEADER, BAD, "__origin", FILE_FIELD.name]

_GLANCE = 4 << 10
"""So many bytes of a file are read first to find its header."""

Arrow = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class TextFiles:
    """How files are read.

    `columns` are those that each file's header must have, None if there are no headers. `multiline`: they are CSV whose
    quoted fields may hold line ends. A bad file stops the query, or comes as a row if the stream `rejects` such.
    `explains`: the header of each line is wanted.
    """

    columns: tuple[str, ...] | None = None
    delimiter: str = ","
    multiline: bool = False
    rejects: bool = False
    explains: bool = False


def text_rows(how: TextFiles) -> Arrow:
    """A function for mapInArrow from files (path, written) to LINES."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path, written in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                place = real_path(place_of(path))
                uri = Path(place).as_uri()
                file = pa.scalar({"time": written, "path": uri, "block": 0}, FILE_FIELD.type)
                with stop_at_bad_file(place):
                    for columns in _lines(place_of(path), how):
                        many = len(columns[0])
                        arrays = [*columns, pa.repeat(pa.scalar(uri), many), pa.repeat(file, many)]
                        yield pa.RecordBatch.from_arrays(arrays, names=_NAMES)
        freeze_imported_modules()

    return run


def _lines(place: str, how: TextFiles) -> Iterator[list[pa.Array]]:
    """The lines of a file as the first columns of LINES."""
    try:
        header, pieces = _split_header(_pieces(place, how), how)
        order = None if header is None or how.columns is None else Order(header, how.columns, how.delimiter)
    except BadFile as problem:
        if not how.rejects:
            raise
        nothing = pa.nulls(1, pa.string())
        yield [nothing, nothing, pa.array([False]), nothing, pa.array([str(problem)])]
        return
    for piece in pieces:
        lines = pa.array(piece, pa.binary())
        lines = lines.filter(pc.greater(pc.binary_length(lines), 0))  # an empty line is no row
        if len(lines):
            said = [header if how.explains else None, None]
            yield [
                *_order_fields(lines, order),
                *(pa.repeat(pa.scalar(text, pa.string()), len(lines)) for text in said),
            ]


def _pieces(place: str, how: TextFiles) -> Iterator[list[bytes]]:
    blocks = blocks_of(place, how.rejects)
    if how.multiline:
        return iter([list(records(b"".join(blocks).removeprefix(BOM), how.delimiter))])
    return lines_of(blocks, LINE_BYTES)


def _split_header(pieces: Iterator[list[bytes]], how: TextFiles) -> tuple[str | None, Iterator[list[bytes]]]:
    """The header, if there is one, and what else there is; so far the file has been read."""
    if how.columns is None:
        return None, chain([next(pieces, [])], pieces)
    blank = BLANK.encode()
    passed: list[bytes] = []
    for piece in pieces:
        for at, line in enumerate(piece):
            if line.strip(blank):
                return _header(line), chain([[*passed, *piece[:at], *piece[at + 1 :]]], pieces)
        passed += piece
    return None, iter([passed])


def _header(line: bytes) -> str:
    if len(line) > LINE_BYTES:
        raise BadFile(f"the first line has more than {LINE_BYTES:,} bytes, which cannot be a header")
    return line.decode(errors="replace")


def _order_fields(lines: pa.Array, order: Order | None) -> list[pa.Array]:
    """The lines, their fields in order, and whether they have these."""
    if order is None or order.is_that_of_the_file:
        return [_text(lines), pa.nulls(len(lines), pa.string()), pa.repeat(pa.scalar(True), len(lines))]
    found = order.put(lines)
    return [_text(lines), _text(found), found.is_valid()]


def _text(lines: pa.Array) -> pa.Array:
    """Bytes, which need not be UTF-8, as Spark takes them for text."""
    return lines.view(pa.string())


def header_of(place: str) -> str | None:
    """The header of a file, None if it has no line that could be one; what is damaged is said by whoever reads it."""
    try:
        lines = list(_first(lines_of(blocks_of(place, first=_GLANCE), LINE_BYTES)))
    except BadFile:
        return None
    return _split_header(iter(lines), TextFiles(columns=()))[0]


def _first(pieces: Iterator[list[bytes]]) -> Iterator[list[bytes]]:
    """The pieces as far as one that holds anything."""
    for piece in pieces:
        yield piece
        if any(line.strip(BLANK.encode()) for line in piece):
            return
