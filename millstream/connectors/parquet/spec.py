"""`parquet:` files, read and written."""

from __future__ import annotations

from millstream.catalog.arrow import to_arrow
from millstream.catalog.schema import Column, type_name
from millstream.connectors.contract import Connector, Problem, Role
from millstream.connectors.shared_options import BATCH, FOLDER


def _reject_problem(column: Column) -> Problem | None:
    """Spark cannot pass over a bad file, so that Arrow must be able to read those of a stream that rejects some."""
    if to_arrow(column.type) is not None:
        return None
    return Problem(
        f"'{column.name}' is {type_name(column.type)}: only Spark reads that, and it cannot pass over files",
        "leave the column out, or say ON BAD FILE STOP",
    )


SPEC = Connector(
    "parquet",
    frozenset(Role),
    "data/items",
    source_options=BATCH,
    sink_options=FOLDER,
    path=True,
    files=True,
    only_spark="",
    reject_problem=_reject_problem,
)
