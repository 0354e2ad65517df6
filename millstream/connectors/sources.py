"""Opens streams and tables, by the kind of their address."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from types import ModuleType

from pyspark.sql import DataFrame

from millstream.catalog.address import Address
from millstream.catalog.definitions import HistoryTable, Stream, Table
from millstream.connectors.arrivals import Arrivals
from millstream.connectors.history import source as kept
from millstream.connectors.registry import options_of
from millstream.errors import RunError
from millstream.spark.host import Host


def open_stream(host: Host, stream: Stream) -> Arrivals:
    """The arrivals of a stream: of one that is kept, from its log."""
    if stream.keep is not None:
        return kept.stream(host, stream)
    arrivals: Arrivals = _module(_source(stream)).stream(host, stream, options_of(stream))
    return _passed_over(arrivals) if host.passes_over else arrivals


def open_rejected(host: Host, stream: Stream) -> Arrivals:
    """The arrivals of a stream, of which the rows that do not parse are wanted."""
    if stream.keep is not None:
        return kept.stream(host, stream)
    module = _module(_source(stream))
    arrivals: Arrivals = getattr(module, "rejected", module.stream)(host, stream, options_of(stream))
    return _passed_over(arrivals) if host.passes_over else arrivals


def open_table(host: Host, table: Table) -> DataFrame:
    """The rows of a table, as they are now."""
    if isinstance(table, HistoryTable):
        return kept.table(host, table)
    frame: DataFrame = _module(table.source).table(host, table, options_of(table))
    return frame


def _passed_over(arrivals: Arrivals) -> Arrivals:
    """The same source without its rows, which Spark then does not read; that they were there is in the checkpoint."""
    return replace(arrivals, frame=arrivals.frame.filter("false"))


def _source(stream: Stream) -> Address:
    if stream.source is None:
        raise RunError(f"stream {stream.name} has no source")
    return stream.source


def _module(address: Address) -> ModuleType:
    return import_module(f"millstream.connectors.{address.kind}.source")
