"""The reason why a row did not parse: the field, its text, and what was expected."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import cache, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.catalog.schema import Schema, type_name
from millstream.connectors.formats.csv_headers import names_of
from millstream.connectors.formats.csv_records import names_in, still_open
from millstream.connectors.places.aliases import real_origin
from millstream.errors import RunError

LINE_BYTES = 16 << 20
"""The longest line that is read. A listener takes no line of more than a part of that."""

MOST_DELIMITERS = 200_000
"""How many delimiters a line of CSV may have."""

BLANK = "".join(map(chr, range(33)))
"""Characters that make no row by themselves."""

_SHOWN = 100
"""How much of a value is told."""

_NO_NUMBERS = {"NaN", "Inf", "+Inf", "-Inf", "Infinity", "-Infinity"}
_WHOLE = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


_Field = tuple[str, str, bool]
"""A column: its name, its type, and whether it may be NULL."""


def explain_rejections(
    schema: Schema, text_format: str | None, delimiter: str, header: tuple[str, ...] = ()
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """From (raw, length, known, origin, header, wrong, begins) to (raw, reason, origin), for mapInArrow.

    Known reasons stay. A file that is bad as a whole has no raw. Rows below headers of their own have other columns.

    A header must be the first line of each file that holds anything; where there is one, the rows are not only those
    that are wrong, but all of the part with which a file `begins`.
    """
    explainer = Explainer(schema, text_format, delimiter, header)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        told = explainer.begin()
        for batch in batches:
            _, reasons = told(batch)
            yield reasons

    return run


class Explainer:
    """Tells why rows are rejected, in a task."""

    def __init__(self, schema: Schema, text_format: str | None, delimiter: str, header: tuple[str, ...] = ()) -> None:
        # Types travel to the workers by name: sqlglot's trees are heavier than what is needed there.
        self._columns = [(c.name, type_name(c.type), c.nullable) for c in schema]
        self._format, self._delimiter, self._header = text_format, delimiter, header

    def begin(self) -> Callable[[pa.RecordBatch], tuple[pa.RecordBatch, pa.RecordBatch]]:
        """A function for the batches of a task, one after the other: the rows that are no headers, and the reasons."""
        csv.field_size_limit(LINE_BYTES + 1)
        headers = _Headers(self._header, self._delimiter)
        below_header = cache(partial(_columns_below, self._columns, self._delimiter))

        def tell(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
            below = headers.without(batch) if self._header else batch
            told = []
            for row in below.select(_ASKED).filter(below["wrong"]).to_pylist():
                # What is not UTF-8 is shown as it would be written in a program.
                text = None if row["raw"] is None else row["raw"].decode(errors="backslashreplace")
                own = self._columns if row["header"] is None else below_header(row["header"])
                why = _why(row["raw"], row, own, self._format, self._delimiter)
                told.append((text, why, real_origin(row["origin"])))
            rows = zip(*told, strict=True) if told else ((), (), ())
            arrays = [pa.array(values, pa.string()) for values in rows]
            return below, pa.RecordBatch.from_arrays(arrays, names=["raw", "reason", "origin"])

        return tell


_ASKED = ["raw", "length", "known", "origin", "header"]


def _columns_below(declared: list[_Field], delimiter: str, header: str) -> list[_Field]:
    """The columns of lines below a header; what is not declared is text."""
    by_name = {column[0].lower(): column for column in declared}
    return [by_name.get(name.lower(), (name, "STRING", True)) for name in names_of(header, delimiter)]


class _Headers:
    """The headers of the files whose lines a task is given, each file in one go."""

    def __init__(self, names: tuple[str, ...], delimiter: str) -> None:
        self._names = ",".join(names)
        self._wanted = [name.lower() for name in names]
        self._delimiter = delimiter
        self._seen: set[str] = set()

    def without(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The lines that are no headers; a file without this header is an error, as it is for Spark's reader."""
        origins = batch["origin"].dictionary_encode()
        found: list[int] = []
        for number, origin in enumerate(origins.dictionary.to_pylist()):
            if origin in self._seen:
                continue
            of_file = pc.and_(pc.equal(origins.indices, number), batch["begins"])
            for at in pc.indices_nonzero(of_file).to_pylist():
                if batch["raw"][at].as_py().strip(BLANK.encode()):
                    self._check(batch["raw"][at].as_py(), origin)
                    self._seen.add(origin)
                    found.append(at)
                    break
        return batch.filter(pc.invert(pc.is_in(pa.array(range(batch.num_rows)), pa.array(found, pa.int64()))))

    def _check(self, line: bytes, origin: str) -> None:
        if names_in(line, self._delimiter) != self._wanted:
            text = line.decode(errors="replace")
            raise RunError(
                f"the header of {origin} differs from the first file's ({text}, not {self._names})\n"
                "help: start the query again: it then reads each file by its own header"
            )


def _why(raw: bytes, row: Mapping[str, Any], columns: list[_Field], text_format: str | None, delimiter: str) -> str:
    if row["known"] is not None:
        return str(row["known"])
    if row["length"] > LINE_BYTES:
        return f"a line of {row['length']:,} bytes, and at most {LINE_BYTES:,} are read; raw is its beginning"
    try:
        text = raw.decode()
    except UnicodeDecodeError as problem:
        return f"not UTF-8: byte 0x{raw[problem.start]:02x} at position {problem.start}"
    return reason(text, columns, text_format, delimiter)


def reason(text: str, columns: list[_Field], text_format: str | None, delimiter: str = ",") -> str:
    """Why a row is no tuple of these columns (name, type, nullable).

    >>> reason("x,ann", [("item_id", "INT", True), ("seller", "STRING", True)], "csv")
    "item_id: 'x' is not an INT"
    >>> reason("1", [("item_id", "INT", True), ("seller", "STRING", True)], "csv")
    '1 field where 2 were declared'
    """
    problem = _csv_problem(text, columns, delimiter) if text_format == "csv" else _json_problem(text, columns)
    return problem or "the row does not fit (" + ", ".join(f"{name} {type_}" for name, type_, _ in columns) + ")"


def _csv_problem(text: str, columns: list[_Field], delimiter: str) -> str | None:
    if "\0" in text:
        return f"a NUL at position {text.index(chr(0))}"
    if not text.strip(BLANK):
        return "nothing but white space and control characters"
    if text.count(delimiter) > MOST_DELIMITERS:
        return f"{text.count(delimiter):,} delimiters, and at most {MOST_DELIMITERS:,} are read"
    if still_open(text, delimiter):
        return "a quoted field is not closed"
    fields = next(csv.reader([text], delimiter=delimiter), [])
    if len(fields) != len(columns):
        plural = "" if len(fields) == 1 else "s"
        return f"{len(fields):,} field{plural} where {len(columns)} were declared"
    values = [(name, type_, field) for (name, type_, _), field in zip(columns, fields, strict=True)]
    return _first(_misfit(n, t, v) for n, t, v in values if v and not _fits_text(t, v))


def _json_problem(text: str, columns: list[_Field]) -> str | None:
    try:
        row = json.loads(text)
    except ValueError as problem:
        return f"not JSON: {problem}"
    except RecursionError:
        return "nested too deeply"
    if not isinstance(row, dict):
        return "not a JSON object"
    values = [(name, type_, row.get(name)) for name, type_, _ in columns]
    return _first(_misfit(n, t, v) for n, t, v in values if v is not None and not _fits_json(t, v))


def _first(problems: Iterator[str]) -> str | None:
    return next(problems, None)


def _misfit(name: str, type_: str, value: object) -> str:
    article = "an" if type_[0] in "AEIOU" else "a"
    shown = repr(value)
    if len(shown) > _SHOWN:
        shown = f"{shown[:_SHOWN]}..."
    return f"{name}: {shown} is not {article} {type_}"


def _fits_text(type_: str, text: str) -> bool:
    """Whether a text can be read as a type, as Spark reads a field of CSV."""
    try:
        if type_ in _WHOLE:
            return _in_range(type_, int(text))
        if type_ in {"FLOAT", "DOUBLE"}:
            float(text)
            return text in _NO_NUMBERS or text.strip("+-").lower() not in {"nan", "inf", "infinity"}
        if type_.startswith("DECIMAL"):
            return _fits_decimal(type_, Decimal(text))
        if type_ == "BOOLEAN":
            return text.lower() in {"true", "false"}
        if type_ == "DATE":
            date.fromisoformat(_replace_year(text)[:10])
        elif type_.startswith("TIMESTAMP"):
            datetime.fromisoformat(_replace_year(text))
    except (ValueError, InvalidOperation):
        return False
    return True


def _replace_year(text: str) -> str:
    """A time with a year that Python knows, for Spark knows more: +10000-01-01, -0044-03-15."""
    return re.sub(r"^(?:[+-]\d{4,6}|0000)-", "2000-", text)


def _fits_json(type_: str, value: object) -> bool:
    """Whether a value of JSON has the type, as Spark sees it: a number in quotes is no number."""
    if type_ == "STRING" or type_.startswith(("ARRAY", "MAP", "STRUCT")):
        return True
    if isinstance(value, str):
        if type_ in {"FLOAT", "DOUBLE"}:
            return value in _NO_NUMBERS
        return (type_ == "DATE" or type_.startswith("TIMESTAMP")) and _fits_text(type_, value)
    if isinstance(value, bool):
        return type_ == "BOOLEAN"
    if type_ in _WHOLE:
        return isinstance(value, int) and _in_range(type_, value)
    if type_ in {"FLOAT", "DOUBLE"}:
        return isinstance(value, int | float)
    return type_.startswith("DECIMAL") and isinstance(value, int | float) and _fits_decimal(type_, Decimal(str(value)))


def _in_range(type_: str, number: int) -> bool:
    limit = 2 ** (_WHOLE[type_] - 1)
    return bool(-limit <= number < limit)


def _fits_decimal(type_: str, value: Decimal) -> bool:
    match = re.fullmatch(r"DECIMAL\((\d+), ?(\d+)\)", type_)
    precision, scale = (int(match[1]), int(match[2])) if match else (10, 0)
    return abs(value) < Decimal(10) ** (precision - scale)
