"""What is there of a member besides its host: its sink, the rows that are kept of it, and what its user sees."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from millstream.connectors.registry import connector
from millstream.connectors.sinks import open_sinks
from millstream.connectors.writing.batch_sink import BatchSink
from millstream.mill.engine.running import RunningQuery
from millstream.mill.hosts.member_start import MemberStart
from millstream.mill.stored.stored_rows import StoredRows
from millstream.mill.streams.readers import Reader, Readers
from millstream.spark.hosts.host_query import HostQuery, MemberHandle
from millstream.spark.hosts.host_sink import RunningMember
from millstream.spark.hosts.member import Member
from millstream.spark.run.progress import Counts


@dataclass(frozen=True)
class MemberRuns:
    """Opens what members need beside their hosts."""

    stored: StoredRows
    readers: Readers

    def sink(self, one: MemberStart, host: HostQuery) -> BatchSink | None:
        """The sink of a member, which may be the rows that are kept of it."""
        prepared, manner, earlier = one.ready.prepared, one.ready.manner, one.ready.results
        if connector(prepared.sinks[0].address).kept:
            kept = manner.settings.results_kept
            one.results = self.stored.open(prepared.query, one.plan.columns, kept, one.place, earlier)
        results, name = one.results, prepared.query.name

        def deliver(table: pa.Table, batch: int) -> None:
            if results is not None:
                results.add(table, batch)
            else:
                manner.display(name, table)

        return open_sinks(host.host, prepared.sinks, one.place, deliver)

    def board(self, one: MemberStart, member: Member, sink: BatchSink | None, host: HostQuery, since: int = 0) -> None:
        """Let the host hand out the rows of a member, from a batch on."""
        one.running_member = host.sink.running_members[member.id] = RunningMember(member, sink, Counts(), since)

    def readers_of(self, one: MemberStart) -> list[Reader]:
        """Who lands the rows that a member reads."""
        reader = self.readers.find(one.plan.stream.name) if one.plan.stream.keep is not None else None
        return [] if reader is None else [reader]

    def running(self, one: MemberStart, host: HostQuery) -> RunningQuery:
        """The member as a query that runs."""
        assert one.running_member is not None  # noqa: S101  (it was opened)
        prepared, handle = one.ready.prepared, MemberHandle(host, one.running_member)
        streams, manner, readers = prepared.streams, one.ready.manner, self.readers_of(one)
        return RunningQuery(
            prepared.query, handle, one.running_member.counts, one.results, one.place, manner, streams, readers
        )
