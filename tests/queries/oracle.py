"""What a case must give: DuckDB, or the rows in the file, judge."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from tests.queries.cases import Case
from tests.queries.inputs import database

Row = tuple[object, ...]
_STREAM = re.compile(r"^CREATE\s+STREAM\b", re.IGNORECASE)


@dataclass(frozen=True)
class Found:
    """What a query gave: its rows, how many tuples were late, and whether the rows come as it gave them."""

    table: pa.Table
    late: int = 0
    in_order: bool = True


def check(case: Case, found: Found) -> None:
    """A query gave what it must."""
    rows, wanted = Counter(plain(found.table)), Counter(expected(case, found.table.schema))
    assert wanted or case.rows is not None, "a case that must give no rows must say so, as rows that are only a header"
    surplus, missing = _unlike(list((rows - wanted).elements()), list((wanted - rows).elements()))
    differences = [
        f"{len(rows)} {what} of {wanted.total()}: {_some(rows)}"
        for rows, what in ((surplus, "rows too many"), (missing, "rows missing"))
        if rows
    ]
    assert not differences, "\n".join(differences)
    assert found.late == case.late, f"{found.late} tuples were late"
    if case.sorted_by is not None and found.in_order:
        column, descending = case.sorted_by
        values = found.table[column].to_pylist()
        assert values == sorted(values, reverse=descending), f"not in the order of {column}: {values[:10]}"


def expected(case: Case, schema: pa.Schema) -> list[Row]:
    """The rows that a case must give; those that a file holds are read in the types of the answer."""
    if case.duckdb is not None:
        return _asked(case)
    schema = pa.schema([field.with_type(_without_zone(field.type)) for field in schema])
    text = io.BytesIO(f"{case.rows}\n".encode())
    if (case.rows or "").startswith("{"):
        options = pyarrow.json.ParseOptions(explicit_schema=schema)
        return plain(pyarrow.json.read_json(text, parse_options=options))
    convert = pyarrow.csv.ConvertOptions(
        column_types=schema, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    table = pyarrow.csv.read_csv(text, convert_options=convert)
    assert table.column_names == schema.names, f"the columns are {', '.join(schema.names)}"
    return plain(table)


def types_of(case: Case) -> dict[str, str]:
    """The columns that DuckDB gives for a case, and their types."""
    with database() as db:
        found = _relation(case, db)
        return {f"c{number}": str(type_) for number, type_ in enumerate(found.types)}


@cache
def _asked(case: Case) -> list[Row]:
    with database() as db:
        return plain(_relation(case, db).to_arrow_table())


def _relation(case: Case, db: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
    for one in case.inputs:
        one.load(db)
    if not case.duckdb:
        for text in case.definitions:
            db.execute(_STREAM.sub("CREATE VIEW", text))
    return db.sql(case.duckdb or case.select)


def plain(table: pa.Table) -> list[Row]:
    """Rows that can be compared: floats to nine digits, times without a zone, lists as tuples."""
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True))


def _plain(value: Any) -> object:
    match value:
        case bool():
            return str(value)  # 1 is no answer where true is wanted
        case float():
            return "NaN" if value != value else round(value, 9)
        case datetime():
            return value.replace(tzinfo=None)
        case list():
            return tuple(map(_plain, value))
        case dict():
            return tuple((name, _plain(part)) for name, part in value.items())
    return value


def _unlike(surplus: list[Row], missing: list[Row]) -> tuple[list[Row], list[Row]]:
    """The rows that have no partner, where floats that were summed in another order count as equal."""
    alone = []
    for row in surplus:
        partner = next((other for other in missing if all(map(_close, row, other))), None)
        if partner is None:
            alone.append(row)
        else:
            missing.remove(partner)
    return alone, missing


def _close(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-8)
    return a == b


def _without_zone(type_: pa.DataType) -> pa.DataType:
    return pa.timestamp(type_.unit) if pa.types.is_timestamp(type_) else type_


def _some(rows: list[Row]) -> str:
    return ", ".join(map(str, sorted(rows, key=str)[:4])) + (" ..." if len(rows) > 4 else "")
