"""Why a row did not parse, told for people: which field, what it held, what was expected."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

import pyarrow as pa

from millstream.catalog.schema import Schema, type_name

_NO_NUMBERS = {"NaN", "Inf", "+Inf", "-Inf", "Infinity", "-Infinity"}
_WHOLE = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def explain_rejections(
    schema: Schema, text_format: str | None, delimiter: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow from (raw, garbled, known, origin) to (raw, reason, origin); known reasons stay."""
    # Types travel to the workers by name: sqlglot's trees are heavier than what is needed there.
    columns = [(c.name, type_name(c.type), c.nullable) for c in schema]

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            raw = batch.column("raw").to_pylist()
            garbled = batch.column("garbled").to_pylist()
            known = batch.column("known").to_pylist()
            reasons = [
                told or reason(text or "", columns, text_format if torn else "json", delimiter)
                for text, torn, told in zip(raw, garbled, known, strict=True)
            ]
            yield pa.RecordBatch.from_pydict(
                {
                    "raw": batch.column("raw"),
                    "reason": pa.array(reasons, pa.string()),
                    "origin": batch.column("origin"),
                }
            )

    return run


def reason(text: str, columns: list[tuple[str, str, bool]], text_format: str | None, delimiter: str = ",") -> str:
    """Why a row is no tuple of these columns (name, type, nullable).

    >>> reason("x,ann", [("item_id", "INT", True), ("seller", "STRING", True)], "csv")
    "item_id: 'x' is not an INT"
    >>> reason("1", [("item_id", "INT", True), ("seller", "STRING", True)], "csv")
    '1 field where 2 were declared'
    """
    problem = _csv_problem(text, columns, delimiter) if text_format == "csv" else _json_problem(text, columns)
    return problem or "the row does not fit (" + ", ".join(f"{name} {type_}" for name, type_, _ in columns) + ")"


def _csv_problem(text: str, columns: list[tuple[str, str, bool]], delimiter: str) -> str | None:
    try:
        fields = next(csv.reader([text], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return "a quoted field is not closed"
    if len(fields) != len(columns):
        plural = "" if len(fields) == 1 else "s"
        return f"{len(fields)} field{plural} where {len(columns)} were declared"
    values = [(name, type_, field) for (name, type_, _), field in zip(columns, fields, strict=True)]
    return _first(_misfit(n, t, v) for n, t, v in values if v and not _fits_text(t, v))


def _json_problem(text: str, columns: list[tuple[str, str, bool]]) -> str | None:
    try:
        row = json.loads(text)
    except ValueError as problem:
        return f"not JSON: {problem}"
    if not isinstance(row, dict):
        return "not a JSON object"
    missing = [name for name, _, nullable in columns if not nullable and row.get(name) is None]
    if missing:
        return f"{missing[0]}: NULL, but the column is NOT NULL"
    values = [(name, type_, row.get(name)) for name, type_, _ in columns]
    return _first(_misfit(n, t, v) for n, t, v in values if v is not None and not _fits_json(t, v))


def _first(problems: Iterator[str]) -> str | None:
    return next(problems, None)


def _misfit(name: str, type_: str, value: object) -> str:
    article = "an" if type_[0] in "AEIOU" else "a"
    return f"{name}: {value!r} is not {article} {type_}"


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
            date.fromisoformat(_near(text)[:10])
        elif type_.startswith("TIMESTAMP"):
            datetime.fromisoformat(_near(text))
    except (ValueError, InvalidOperation):
        return False
    return True


def _near(text: str) -> str:
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
