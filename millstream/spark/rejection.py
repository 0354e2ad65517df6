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

_WHOLE = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def explain_rejections(
    schema: Schema, text_format: str | None, delimiter: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow from (raw, garbled, origin) to (raw, reason, origin)."""
    # Types travel to the workers by name: sqlglot's trees are heavier than what is needed there.
    columns = [(c.name, type_name(c.type), c.nullable) for c in schema]

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            raw = batch.column("raw").to_pylist()
            garbled = batch.column("garbled").to_pylist()
            reasons = [
                reason(text or "", columns, text_format if torn else "json", delimiter)
                for text, torn in zip(raw, garbled, strict=True)
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
    return _first(_misfit(name, type_, field) for (name, type_, _), field in zip(columns, fields, strict=True) if field)


def _json_problem(text: str, columns: list[tuple[str, str, bool]]) -> str | None:
    try:
        row = json.loads(text)
    except ValueError as problem:
        return f"not JSON: {problem}"
    if not isinstance(row, dict):
        return "not a JSON object"
    values = {str(k).lower(): v for k, v in row.items()}
    missing = [name for name, _, nullable in columns if not nullable and values.get(name.lower()) is None]
    if missing:
        return f"{missing[0]}: NULL, but the column is NOT NULL"
    return _first(_misfit(name, type_, values.get(name.lower())) for name, type_, _ in columns)


def _first(problems: Iterator[str | None]) -> str | None:
    return next((p for p in problems if p), None)


def _misfit(name: str, type_: str, value: object) -> str | None:
    if value is None or _fits(type_, value):
        return None
    article = "an" if type_[0] in "AEIOU" else "a"
    return f"{name}: {value!r} is not {article} {type_}"


def _fits(type_: str, value: object) -> bool:
    text = value if isinstance(value, str) else json.dumps(value)
    try:
        if type_ in _WHOLE:
            limit = 2 ** (_WHOLE[type_] - 1)
            return not isinstance(value, bool) and -limit <= int(text) < limit
        if type_ in {"FLOAT", "DOUBLE"}:
            float(text)
        elif type_.startswith("DECIMAL"):
            return _fits_decimal(type_, Decimal(text))
        elif type_ == "BOOLEAN":
            return text.lower() in {"true", "false"}
        elif type_ == "DATE":
            date.fromisoformat(text[:10])
        elif type_.startswith("TIMESTAMP"):
            datetime.fromisoformat(text)
    except (ValueError, InvalidOperation):
        return False
    return True


def _fits_decimal(type_: str, value: Decimal) -> bool:
    match = re.fullmatch(r"DECIMAL\((\d+), ?(\d+)\)", type_)
    precision, scale = (int(match[1]), int(match[2])) if match else (10, 0)
    return abs(value) < Decimal(10) ** (precision - scale)
