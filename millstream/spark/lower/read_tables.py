"""Tables of the catalog that bodies of aggregates read: their rows go with the aggregate to wherever it runs."""

from __future__ import annotations

from millstream.aggregates.contract import Aggregate
from millstream.catalog.definitions import Table
from millstream.catalog.select import AggregateCall
from millstream.connectors.sources import open_table
from millstream.spark.host import Host
from millstream.spark.names import quoted
from millstream.udas.arrow import to_values
from millstream.udas.sql_aggregate import SqlAggregate


def with_tables(call: AggregateCall, host: Host) -> Aggregate:
    """The aggregate of a call with the tables that it reads, as they are when the query starts."""
    if not isinstance(call.aggregate, SqlAggregate) or not call.reads:
        return call.aggregate
    return call.aggregate.reading({table.name: _rows(table, host) for table in call.reads})


def _rows(table: Table, host: Host) -> list[tuple[object, ...]]:
    rows = open_table(host, table).select(*map(quoted, table.schema.names)).toArrow()
    return list(zip(*(to_values(column.combine_chunks()) for column in rows.itercolumns()), strict=True))
