"""Queries that can be started: bound, planned, looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.catalog.definitions import Query, Sink, Stream
from millstream.mill.home.query_record import QueryRecord
from millstream.mill.manner import Manner
from millstream.mill.stored.stored_rows import RowStore
from millstream.plan.algebra import Node
from millstream.plan.reads import streams_of


@dataclass(frozen=True)
class PreparedQuery:
    """A query that can be started: its plan, where its rows go, and what its checkpoint must fit.

    `fed` is the stream without a source that its rows go into, if they do.
    """

    query: Query
    plan: Node
    sinks: Sequence[Sink]
    record: QueryRecord
    fed: Stream | None = None

    @property
    def streams(self) -> frozenset[str]:
        """The names of the streams that it reads."""
        return frozenset(stream.name for stream in streams_of(self.plan))


@dataclass(frozen=True)
class ReadyQuery:
    """A query that is to be started now: in what manner, and with which kept rows it goes on, if with any."""

    prepared: PreparedQuery
    manner: Manner
    results: RowStore | None = None

    @property
    def name(self) -> str:
        """The name of the query."""
        return self.prepared.query.name
