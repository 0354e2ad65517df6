"""The hosts of an engine: queries that begin together and read one stream are members of one Spark query."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.mill.engine.planner import Planner
from millstream.mill.engine.query_registry import QueryRegistry
from millstream.mill.engine.running import RunningQuery
from millstream.mill.engine.runtime import Runtime
from millstream.mill.home.home import Home
from millstream.mill.hosts.decisions import Decisions, describe_member
from millstream.mill.hosts.host_starter import HostStarter
from millstream.mill.hosts.joiner import Joiner
from millstream.mill.hosts.member_runs import MemberRuns
from millstream.mill.hosts.running_hosts import RunningHosts
from millstream.mill.streams.open_streams import OpenStreams
from millstream.spark.hosts.host_query import HostQuery, MemberHandle


class Hosts:
    """The queries that share a reading: how they are chosen, start and end."""

    def __init__(
        self, home: Home, runtime: Runtime, planner: Planner, queries: QueryRegistry, streams: OpenStreams
    ) -> None:
        self._queries = queries
        running = RunningHosts(streams.readers)
        self.decisions = Decisions(home, runtime, planner, queries, running)
        self.starter = HostStarter(home, runtime, self.decisions, queries, running, streams)
        self.joiner = Joiner(home, self.decisions, running, queries, MemberRuns(runtime.stored, streams.readers))

    def listing(self) -> list[tuple[str, str | None, str | None, str]]:
        """The queries that run: each with its host and its state, and what it shares, or why it does not."""
        rows: list[tuple[str, str | None, str | None, str]] = []
        for query in list(self._queries.by_name.values()):
            if isinstance(query.handle, MemberHandle):
                host, one = query.handle.host, query.handle.running_member
                rows.append((query.name, host.name, one.member.state, one.failure or describe_member(host, one)))
            else:
                rows.append((query.name, None, None, self._queries.alone.get(query.name.lower(), "")))
        return rows

    def halt(self, queries: Sequence[RunningQuery]) -> list[RunningQuery]:
        """Stop the hosts of some queries, each with all its members; the others that ended with them."""
        hosts = {id(host): host for query in queries if (host := _host_of(query)) is not None}
        others = [
            query
            for query in list(self._queries.by_name.values())
            if query not in queries and (host := _host_of(query)) is not None and id(host) in hosts
        ]
        for host in hosts.values():
            host.stop()
        return others

    def ended_with(self, query: RunningQuery) -> list[RunningQuery]:
        """The members of a host that ended when one did; a query that is by itself is alone in that, too."""
        if not isinstance(query.handle, MemberHandle) or query.handle.running_member.departure.is_set():
            return [query]
        every = self._queries.by_name.values()
        return [q for q in every if isinstance(q.handle, MemberHandle) and q.handle.host is query.handle.host
                and not q.handle.running_member.departure.is_set()]  # fmt: skip

    def forget(self, query: RunningQuery) -> None:
        """A query is dropped: it leaves its host, and its state goes; the others go on."""
        if (host := _host_of(query)) is None or not isinstance(query.handle, MemberHandle):
            return
        host.leave(query.handle.running_member, None, "", parts=False)
        host.drop(query.handle.member)
        if not host.members:
            host.ended.wait(30)


def _host_of(query: RunningQuery) -> HostQuery | None:
    """The host in which a query is at work."""
    handle = query.handle
    if not isinstance(handle, MemberHandle) or handle.running_member.departure.is_set() or handle.host.ended.is_set():
        return None
    return handle.host
