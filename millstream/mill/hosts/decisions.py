"""Decides whether queries share the reading of a stream, and explains it in EXPLAIN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Query
from millstream.catalog.select import Select
from millstream.catalog.settings import Settings
from millstream.errors import RunError
from millstream.history.moments import Bound
from millstream.mill.engine.planner import Planner
from millstream.mill.engine.prepared_query import PreparedQuery, ReadyQuery
from millstream.mill.engine.query_registry import QueryRegistry
from millstream.mill.engine.runtime import Runtime
from millstream.mill.home.home import Home
from millstream.mill.hosts.member_start import pace_of
from millstream.mill.hosts.running_hosts import RunningHosts
from millstream.plan.algebra import Node
from millstream.plan.physical import physical
from millstream.plan.physical.arrow_steps import Refused
from millstream.plan.physical.choose_buckets import bucket_count
from millstream.plan.sharing.shared_plan import shared_plan
from millstream.plan.sharing.sharing_decision import SharingDecision, describe_sharing, group_into_hosts
from millstream.spark.hosts.host_query import HostQuery, MemberHandle
from millstream.spark.hosts.host_sink import RunningMember
from millstream.spark.hosts.pattern_steps import names_alike


class Decisions:
    """Decides which queries share a reading, and notes why others do not."""

    def __init__(
        self, home: Home, runtime: Runtime, planner: Planner, queries: QueryRegistry, hosts: RunningHosts
    ) -> None:
        self._home, self._runtime, self._planner = home, runtime, planner
        self._queries, self._hosts = queries, hosts

    def decide(
        self, query: Query, logical: Node, settings: Settings, starts: Mapping[str, Bound] | None = None
    ) -> SharingDecision:
        """How a query would share the reading of its stream, or why it does not. Where it starts, its answers begin."""
        logical = self._planner.with_whole_windows(query, logical, starts or {})
        host = self._home.host_of(query.name) if query.name else None
        why = self._why_not(query, settings) if host is None else None
        if query.into is not None:
            why = f"how far it has come goes into {query.into} with its rows"
        if why is not None:
            return SharingDecision(query.name, None, why, host)
        facts = self._planner.facts(query, settings)
        carried_out = physical(logical, facts)
        try:
            plan = shared_plan(logical, carried_out, facts)
        except Refused as refusal:
            return SharingDecision(query.name, None, str(refusal), host)
        pace = pace_of(settings)
        start = "" if query.start is None else str(query.start)
        goes_on = plan.stream.keep is not None and not self._runtime.place.once
        buckets = bucket_count(carried_out)
        return SharingDecision(query.name, plan, "", host, pace, buckets, start, goes_on and plan.stage is not None)

    def check(self, prepared: PreparedQuery, settings: Settings) -> None:
        """Refuse a query that has begun in a host and could not go on there."""
        found = self.decide(prepared.query, prepared.plan, settings)
        if found.host is not None and found.plan is None:
            raise RunError(
                f"query {found.name} has begun in a host, and could not go on there: {found.why}\n"
                "help: keep what it was; or begin anew, with STARTING NOW; "
                "or give it another name to start from the beginning"
            )

    def group_into_hosts(self, ready: Sequence[ReadyQuery]) -> list[list[int]]:
        """The queries that begin in one host, by their places; of others it is noted why they do not.

        Those that can join a host that runs are none of them.
        """
        every = [self.decide(one.prepared.query, one.prepared.plan, one.manner.settings) for one in ready]
        found = [
            one if self._hosts.open_to(one, ready[number].prepared.query) is None else replace(one, plan=None)
            for number, one in enumerate(every)
        ]
        together = group_into_hosts(found)
        hosted = {number for numbers in together for number in numbers}
        for number, one in enumerate(found):
            if number in hosted:
                self._queries.alone.pop(one.name.lower(), None)
            else:
                self._queries.alone[one.name.lower()] = one.why or self._why_alone(one)
        return together

    def _why_alone(self, found: SharingDecision) -> str:
        if found.plan is None:
            return ""
        words = f"no query reads {found.plan.stream.name} that was started with it"
        read_on = " and ".join(f"{host.name} has read on" for host in self._hosts.reading(found))
        return f"{words}, and {read_on}" if read_on else words

    def explain(self, asked: Select | Query, settings: Settings, catalog: Catalog | None = None) -> str:
        """A line of EXPLAIN: whether others read a stream together with a query; nothing of one over tables."""
        select = asked if isinstance(asked, Select) else asked.select
        if select.bounded:
            return ""
        query = asked if isinstance(asked, Query) else Query("", asked, None, "")
        return f"\n{self._note(query, self._planner.plan(asked, catalog), settings)}"

    def _note(self, query: Query, logical: Node, settings: Settings) -> str:
        """What EXPLAIN says of sharing, of a query that runs or of one that does not."""
        running = self._queries.by_name.get(query.name.lower())
        if running is not None and isinstance(running.handle, MemberHandle):
            return f"{running.handle.host.name}: {describe_member(running.handle.host, running.handle.running_member)}"
        known = self._queries.alone.get(query.name.lower())
        if known is not None:
            return f"runs by itself: {known}"
        found = self.decide(query, logical, settings)
        if found.plan is None:
            return f"runs by itself: {found.why}"
        together = f"can share the reading of {found.plan.stream.name} with queries that are started together with it"
        joined = " or ".join(host.name for host in self._hosts.reading(found))
        return f"{together}; with START AT NOW, it would join {joined}" if joined else together

    def _why_not(self, query: Query, settings: Settings) -> str | None:
        if not settings.shares:
            return "SET sharing = off says so"
        if not self._runtime.place.shares:
            return "a query that fails is to be started again"
        if self._runtime.has_spark and not str(self._runtime.spark.sparkContext.master).startswith("local"):
            return "its tasks run on other machines"
        if query.name and self._home.has_checkpoint(query.name):
            return "it goes on from a checkpoint of its own"
        return None


def describe_member(host: HostQuery, one: RunningMember) -> str:
    """What a member shares with the others of its host."""
    others = [(other.member.name, other.member.state) for other in host.members if other is not one]
    if not others and len(host.roster.entries) > 1:
        return "reads alone: the others of its host go on without it, or are gone"
    stateless = tuple(each.member for each in host.members if each.member.state is None)
    return describe_sharing(one.member.name, one.member.state, others, names_alike(stateless).get(one.member.id, ()))
