"""Decides whether queries share the reading of a stream, and explains it in EXPLAIN."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Query
from millstream.catalog.select import Select
from millstream.catalog.settings import Settings
from millstream.errors import RunError
from millstream.mill.engine.known_queries import KnownQueries
from millstream.mill.engine.planner import Planner
from millstream.mill.engine.prepared import Prepared, Ready
from millstream.mill.engine.runtime import Runtime
from millstream.mill.home.home import Home
from millstream.plan.algebra import Node
from millstream.plan.physical import physical
from millstream.plan.physical.arrow_steps import Refused
from millstream.plan.physical.choose_buckets import bucket_count
from millstream.plan.sharing.decide import Considered, companies, told_of
from millstream.plan.sharing.shared_plan import shared_plan
from millstream.spark.hosts.host_query import HostQuery, MemberHandle
from millstream.spark.hosts.host_sink import Aboard


class Decisions:
    """Decides which queries share a reading, and notes why others do not."""

    def __init__(self, home: Home, runtime: Runtime, planner: Planner, queries: KnownQueries) -> None:
        self._home, self._runtime, self._planner, self._queries = home, runtime, planner, queries

    def consider(self, query: Query, logical: Node, settings: Settings) -> Considered:
        """How a query would share the reading of its stream, or why it does not."""
        host = self._home.host_of(query.name) if query.name else None
        why = self._why_not(query, settings) if host is None else None
        if why is not None:
            return Considered(query.name, None, why)
        facts = self._planner.facts(query, settings)
        carried_out = physical(logical, facts)
        try:
            plan = shared_plan(logical, carried_out, facts)
        except Refused as refusal:
            return Considered(query.name, None, str(refusal), host)
        pace = f"{settings.trigger_interval} {settings.heartbeats}"
        return Considered(query.name, plan, "", host, pace, bucket_count(carried_out))

    def check(self, prepared: Prepared, settings: Settings) -> None:
        """Refuse a query that has begun in a host and could not go on there."""
        found = self.consider(prepared.query, prepared.plan, settings)
        if found.host is not None and found.plan is None:
            raise RunError(
                f"query {found.name} has begun in a host, and could not go on there: {found.why}\n"
                "help: keep what it was; or begin anew, with STARTING NOW; "
                "or give it another name to start from the beginning"
            )

    def companies(self, ready: Sequence[Ready]) -> list[list[int]]:
        """The queries that begin in one host, by their places; of others it is noted why they do not."""
        found = [self.consider(one.prepared.query, one.prepared.plan, one.manner.settings) for one in ready]
        together = companies(found)
        hosted = {number for numbers in together for number in numbers}
        for number, one in enumerate(found):
            if number in hosted:
                self._queries.alone.pop(one.name.lower(), None)
            else:
                alone = "" if one.plan is None else f"no query reads {one.plan.stream.name} that was started with it"
                self._queries.alone[one.name.lower()] = one.why or alone
        return together

    def explain(self, asked: Select | Query, settings: Settings, catalog: Catalog | None = None) -> str:
        """A line of EXPLAIN: whether others read a stream together with a query; nothing of one over tables."""
        select = asked if isinstance(asked, Select) else asked.select
        if select.bounded:
            return ""
        query = asked if isinstance(asked, Query) else Query("", asked, None, "")
        return f"\n{self._note(query, self._planner.plan(asked, catalog), settings)}"

    def _note(self, query: Query, logical: Node, settings: Settings) -> str:
        """What EXPLAIN says of sharing, of a query that runs or of one that does not."""
        known = self._queries.alone.get(query.name.lower())
        if known is not None:
            return f"runs by itself: {known}"
        running = self._queries.by_name.get(query.name.lower())
        if running is not None and isinstance(running.handle, MemberHandle):
            return f"{running.handle.host.name}: {describe_member(running.handle.host, running.handle.aboard)}"
        found = self.consider(query, logical, settings)
        if found.plan is None:
            return f"runs by itself: {found.why}"
        return f"can share the reading of {found.plan.stream.name} with queries that are started together with it"

    def _why_not(self, query: Query, settings: Settings) -> str | None:
        if not settings.shares:
            return "SET sharing = off says so"
        if not self._runtime.place.shares:
            return "a query that fails is to be started again"
        if query.start is not None:
            return "it says where it begins"
        if self._runtime.has_spark and not str(self._runtime.spark.sparkContext.master).startswith("local"):
            return "its tasks run on other machines"
        if query.name and self._home.has_checkpoint(query.name):
            return "it goes on from a checkpoint of its own"
        return None


def describe_member(host: HostQuery, one: Aboard) -> str:
    """What a member shares with the others of its host."""
    others = [(other.member.name, other.member.state) for other in host.members if other is not one]
    if not others and len(host.roster.entries) > 1:
        return "reads alone: the others of its host go on without it, or are gone"
    return told_of(one.member.name, one.member.state, others)
