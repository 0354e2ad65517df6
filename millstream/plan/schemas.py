"""The columns that the steps of a plan give, with their types."""

from __future__ import annotations

from millstream.catalog.definitions import REJECTED_SCHEMA
from millstream.catalog.schema import Column, Schema, sql_type
from millstream.plan.algebra import (
    AssignWindows,
    LateScan,
    Node,
    OneRow,
    OverAggregate,
    Project,
    RejectedScan,
    Scan,
    TableScan,
    WindowAggregate,
)
from millstream.plan.several import TableJoin, WindowJoin

BOUNDS = (Column("window_start", sql_type("timestamp")), Column("window_end", sql_type("timestamp")))
EMITTED = Column("emitted", sql_type("string"))


def schema_of(node: Node) -> Schema:
    """The columns of a step's rows; a step of its own kind that only chooses rows gives those of its first input."""
    match node:
        case OneRow():
            return Schema()
        case Scan(stream=stream) | LateScan(stream=stream):
            return stream.schema
        case RejectedScan():
            return REJECTED_SCHEMA
        case TableScan(table=table):
            return table.schema
        case Project():
            return node.schema
        case WindowAggregate(windowed=work):
            answers = [column for call in work.calls for column in call.columns]
            return Schema([*(key.column for key in work.keys), *answers, *BOUNDS, EMITTED])
        case OverAggregate(below=below, framed=framed):
            answers = [column for each in framed.calls for column in each.call.columns]
            return Schema([*chosen(below, framed.carried), *answers])
        case AssignWindows(below=below):
            return Schema([*schema_of(below), *BOUNDS])
        case WindowJoin(left=left, right=right, columns=columns):
            return Schema([*chosen(left, columns[0]), *chosen(right, columns[1])])
        case TableJoin(left=left, right=right):
            return Schema([*schema_of(left), *schema_of(right)])
    return schema_of(node.inputs[0])


def chosen(node: Node, names: tuple[str, ...]) -> tuple[Column, ...]:
    """Some columns of a step, in that order."""
    schema = schema_of(node)
    return tuple(column for name in names if (column := schema.find(name)) is not None)
