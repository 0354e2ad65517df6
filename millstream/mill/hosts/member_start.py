"""A query on its way into a host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream.catalog.definitions import Stream
from millstream.catalog.settings import Settings
from millstream.connectors.places.query_place import QueryPlace
from millstream.history.moments import Bound
from millstream.mill.engine.prepared_query import ReadyQuery
from millstream.mill.stored.stored_rows import RowStore
from millstream.plan.algebra import Node
from millstream.plan.sharing.shared_plan import SharedPlan
from millstream.plan.sharing.states import begun_at, states_for
from millstream.spark.hosts.host_sink import RunningMember
from millstream.spark.hosts.member import FIRST, Begin


@dataclass
class MemberStart:
    """A query on its way into a host."""

    ready: ReadyQuery
    plan: SharedPlan
    buckets: int | None
    state: str | None
    place: QueryPlace
    begin: Begin = FIRST
    running_member: RunningMember | None = None
    results: RowStore | None = None

    @property
    def logical(self) -> Node:
        """Its plan."""
        return self.ready.prepared.plan

    @property
    def pace(self) -> str:
        """How often it wants its host to look for input, and how this is to hear of the clock."""
        return pace_of(self.ready.manner.settings)


def pace_of(settings: Settings) -> str:
    """What must be the same for queries that read together."""
    return f"{settings.trigger_interval} {settings.heartbeats}"


def begin_of(stream: Stream, starts: Mapping[str, Bound]) -> Begin:
    """Where a query begins in a stream; of one that is not kept it has all that its host reads."""
    bound = starts.get(stream.name.lower())
    return FIRST if bound is None else Begin(bound.position, bound.time)


def states_from(members: Sequence[tuple[SharedPlan, Begin]]) -> list[str | None]:
    """The ids of the states of queries that begin in a new host; those that begin elsewhere have others."""
    first = members[0][1]
    found: dict[int, str | None] = {}
    for begin in dict.fromkeys(begin for _, begin in members):
        here = [number for number, (_, other) in enumerate(members) if other == begin]
        for number, state in zip(here, states_for([members[n][0] for n in here]), strict=True):
            found[number] = state if state is None or begin == first else begun_at(state, begin.mark)
    return [found[number] for number in range(len(members))]
