"""`csv:` files, read and written."""

from __future__ import annotations

from millstream.catalog.definitions import Options
from millstream.catalog.options import Option, boolean
from millstream.catalog.schema import Column, type_name
from millstream.connectors.contract import Connector, Problem, Role
from millstream.connectors.shared_options import BATCH, CSV_TEXT, FOLDER


def nested_problem(column: Column, options: Options) -> Problem | None:
    """A field of CSV is one value."""
    if not column.type.is_type("array", "map", "struct", "binary"):
        return None
    return Problem(
        f"CSV cannot hold '{column.name}' {type_name(column.type)}",
        "use JSON or Parquet, or read the column as STRING and take it apart with from_json",
    )


SPEC = Connector(
    "csv",
    frozenset(Role),
    "data/*.csv",
    source_options={
        **CSV_TEXT,
        "multiline": Option(
            boolean, False, "quoted fields may hold line ends (a file is then read in one piece)", shapes_rows=True
        ),
        **BATCH,
    },
    sink_options={**CSV_TEXT, **FOLDER},
    path=True,
    files=True,
    only_spark="its files are CSV",
    file_endings=frozenset({".csv", ".tsv", ".txt"}),
    column_problem=nested_problem,
)
