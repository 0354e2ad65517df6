"""CSV with line ends in quoted fields: a file cut into records."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator

import pyarrow as pa

from millstream.errors import RunError
from millstream.spark.stage.arrival_order import FILE_DDL, FILE_FIELD

RECORDS = f"value STRING, __origin STRING, first INT, {FILE_DDL}"
_FIELDS = pa.schema([("value", pa.string()), ("__origin", pa.string()), ("first", pa.int32()), FILE_FIELD])

_LINE_END = re.compile(rb"\r\n|\r|\n")
_QUOTED_REST = re.compile(r'(?:[^"]++|"")*+"')
_BOM = b"\xef\xbb\xbf"


def still_open(line: str, delimiter: str, within: bool = False) -> bool:
    """Whether a quoted field goes on behind the end of a line; `within`, it began with one.

    >>> still_open('1,"a', ","), still_open('b",2', ",", within=True), still_open('5" x,"a""b"', ",")
    (True, False, False)
    """
    if '"' not in line:
        return within
    at = 0
    while True:
        if within or line.startswith('"', at):
            rest = _QUOTED_REST.match(line, at if within else at + 1)
            if rest is None:
                return True
            at, within = rest.end(), False
        at = line.find(delimiter, at)
        if at < 0:
            return False
        at += len(delimiter)


def fields_of(line: str, delimiter: str) -> list[str] | None:
    """The fields of a line as they stand there, with their quotes; None if one of these is not closed.

    >>> fields_of('1,"a,b""c",5" x,', ","), fields_of('1,"a', ",")
    (['1', '"a,b""c"', '5" x', ''], None)
    """
    fields: list[str] = []
    at = 0
    while True:
        begin = at
        if line.startswith('"', at):
            rest = _QUOTED_REST.match(line, at + 1)
            if rest is None:
                return None
            at = rest.end()
        at = line.find(delimiter, at)
        if at < 0:
            return [*fields, line[begin:]]
        fields.append(line[begin:at])
        at += len(delimiter)


def records_of(header: str | None, delimiter: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow from whole files (value, origin, FILE) to records; `first` is 1 for one in each file.

    The first record of each file must be this header, if there is one.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            files = zip(batch.column(0).cast(pa.binary()), batch.column(1).to_pylist(), strict=True)
            for number, (file, origin) in enumerate(files):
                found = [r for r in records(file.as_py().removeprefix(_BOM), delimiter) if r]
                if header is not None and found:
                    _check(found.pop(0), header, delimiter, origin)
                if found:
                    values = pa.array(found, pa.binary())
                    text = pa.Array.from_buffers(pa.string(), len(values), values.buffers())
                    first = pa.array([1] + [0] * (len(found) - 1), pa.int32())
                    of = batch.column(2).cast(FILE_FIELD.type).take(pa.array([number] * len(found)))
                    columns = [text, pa.array([origin] * len(found)), first, of]
                    yield pa.RecordBatch.from_arrays(columns, schema=_FIELDS)

    return run


def records(file: bytes, delimiter: str) -> Iterator[bytes]:
    r"""The records of a file, without the line ends behind them.

    >>> list(records(b'1,"a\nb"\r\n2,c', ","))
    [b'1,"a\nb"', b'2,c']
    """
    begin = at = 0
    within = False
    while at < len(file):
        found = _LINE_END.search(file, at)
        stop, following = found.span() if found else (len(file), len(file))
        within = still_open(file[at:stop].decode("latin-1"), delimiter.encode().decode("latin-1"), within)
        at = following
        if not within or found is None:
            yield file[begin:stop]
            begin = at
    if begin < len(file):
        yield file[begin:]


def names_in(record: bytes, delimiter: str) -> list[str]:
    """The names that a header holds, as they are compared."""
    text = record.removeprefix(_BOM).decode(errors="replace")
    return [name.lower() for name in next(csv.reader([text], delimiter=delimiter), [])]


def _check(found: bytes, header: str, delimiter: str, origin: str) -> None:
    if names_in(found, delimiter) != names_in(header.encode(), delimiter):
        raise RunError(
            f"the header of {origin} differs from the first file's ({found.decode(errors='replace')}, not {header})"
        )
