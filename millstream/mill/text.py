"""Rows as text: CSV as the sinks write it, and values in JSON's terms."""

from __future__ import annotations

import base64
import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa

from millstream.mill.values import values


def csv_text(table: pa.Table, *, header: bool = True) -> str:
    """Rows as CSV: NULL is an empty field, an empty string is quoted.

    >>> print(csv_text(pa.table({"id": [1, None], "name": ["a,b", ""]})), end="")
    id,name
    1,"a,b"
    ,""
    """
    lines = [",".join(_field(name) for name in table.column_names)] if header else []
    columns = [values(column) for column in table.columns]
    lines += [",".join(_field(cell(v)) for v in row) for row in zip(*columns, strict=True)]
    return "".join(f"{line}\n" for line in lines)


def cell(value: object) -> str | None:
    """A value as text; None for NULL."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | dict | tuple):
        return json.dumps(value, default=plain)
    return str(plain(value))


def plain(value: object) -> object:
    """A value in JSON's terms."""
    if isinstance(value, datetime):
        # Times are in UTC; like the sinks, no zone is written.
        return value.replace(tzinfo=None).isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value if isinstance(value, int | float) else str(value)


def _field(text: str | None) -> str:
    if text is None:
        return ""
    if not text or any(c in text for c in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
