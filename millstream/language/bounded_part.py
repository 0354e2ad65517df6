"""The way out for who wants a table of a stream: a part of it that has an end."""

from __future__ import annotations

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Stream
from millstream.catalog.select import Select
from millstream.connectors.registry import connector


def bounded_part(table: str, select: Select, catalog: Catalog) -> str:
    """How a table is made of what a SELECT reads, or what is made instead: only tables are complete at some time."""
    streams = [found for name in select.reads if isinstance(found := catalog.relation(name), Stream)]
    if len(streams) != len(select.reads) or len(streams) != 1:
        return f"use CREATE STREAM {table} AS SELECT ...; or CREATE VIEW {table} KEY (k) AS ... keeps the newest rows"
    (stream,) = streams
    if stream.keep is not None:
        return f"say which part of its history: FROM {stream.name} SINCE EARLIEST UNTIL NOW"
    if stream.source is not None and connector(stream.source).files:
        return (
            f"read its files as a table: CREATE TABLE {stream.name}_files (...) SOURCE '{stream.source}'; "
            f"or keep its history, KEEP ALL, and say which part: FROM {stream.name} SINCE EARLIEST"
        )
    return f"keep its history, KEEP ALL, and say which part: FROM {stream.name} SINCE EARLIEST UNTIL NOW"
