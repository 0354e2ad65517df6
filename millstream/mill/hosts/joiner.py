"""How a query joins a host that runs: from a position in the log of its stream on, and without a word to the others.

The host has planned its batches up to some position, and the query begins there or further on. So each row comes before
its first batch and is none of its rows, or in that batch or later: tasks pass over what is before its position. No
batch is handed out meanwhile, so that the host plans one more at the most.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.connectors.places.query_place import QueryPlace
from millstream.connectors.writing.batch_sink import BatchSink
from millstream.errors import MillstreamError
from millstream.history.reading_positions import planned_end
from millstream.mill.engine.prepared_query import ReadyQuery
from millstream.mill.engine.query_registry import QueryRegistry
from millstream.mill.engine.running import RunningQuery
from millstream.mill.engine.starts import forget_starts, has_starts, starts_of
from millstream.mill.home.home import Home
from millstream.mill.hosts.decisions import Decisions
from millstream.mill.hosts.member_runs import MemberRuns
from millstream.mill.hosts.member_start import MemberStart, begin_of
from millstream.mill.hosts.running_hosts import RunningHosts
from millstream.mill.stored.stored_rows import RowStore
from millstream.plan.reads import streams_of
from millstream.plan.sharing.states import begun_at
from millstream.spark.hosts.compile_member import Candidate, compile_members
from millstream.spark.hosts.host_query import HostQuery
from millstream.spark.process.failures import translate_failures

TRIES = 5
"""Once is enough for an idle host, twice for one that plans a batch just then."""


@dataclass(frozen=True)
class Joiner:
    """Lets queries join hosts that run."""

    home: Home
    decisions: Decisions
    hosts: RunningHosts
    queries: QueryRegistry
    runs: MemberRuns

    def join(self, ready: ReadyQuery) -> RunningQuery | MillstreamError | None:
        """What runs in a host that was there, or why it does not; None if there is none that could be joined."""
        prepared = ready.prepared
        found = self.decisions.decide(prepared.query, prepared.plan, ready.manner.settings)
        host = self.hosts.open_to(found, prepared.query)
        if host is None:
            return None
        self.queries.let_go(ready)
        try:
            with translate_failures(), host.sink.handout_lock:
                running = self._joined(ready, host)
        except MillstreamError as problem:
            return problem
        if running is None:
            self.queries.alone[ready.name.lower()] = f"{host.name} has read on, or ended, when it was to join"
            return None
        self.queries.alone.pop(ready.name.lower(), None)
        return self.queries.know(running)

    def _joined(self, ready: ReadyQuery, host: HostQuery) -> RunningQuery | None:
        if host.stopping or host.ended.is_set() or not host.members:
            return None
        place = self.home.joining_place(ready.name, ready.prepared.record, host.roster.folder)
        written, joining = has_starts(place), _Joining(self, host)
        try:
            for _ in range(TRIES):
                if not written:
                    forget_starts(place)
                since = host.roster.next_batch
                one = self._board(ready, host, place)
                if one is None:
                    break
                if joining.enroll(one, since):
                    return self.runs.running(one, host)
        except BaseException:
            joining.withdraw(place.id)
            self.home.undo(place)
            raise
        joining.withdraw(place.id)
        self.home.undo(place)
        return None

    def _board(self, ready: ReadyQuery, host: HostQuery, place: QueryPlace) -> MemberStart | None:
        """The query, if it begins now where the host is or further on."""
        query, streams = ready.prepared.query, streams_of(ready.prepared.plan)
        starts = starts_of(query, place, streams, self.runs.readers)
        found = self.decisions.decide(query, ready.prepared.plan, ready.manner.settings, starts)
        if found.plan is None:
            return None
        begin = begin_of(found.plan.stream, starts)
        if begin.position < planned_end(host.roster.folder, found.plan.stream.name):
            return None
        state = None if found.plan.state is None else begun_at(found.plan.state, begin.mark)
        return MemberStart(ready, found.plan, found.buckets, state, place, begin)


class _Joining:
    """A query on its way into a host that runs: its sink is opened once, however often it is tried."""

    def __init__(self, joiner: Joiner, host: HostQuery) -> None:
        self._joiner, self._host = joiner, host
        self._opened = False
        self._sink: BatchSink | None = None
        self._results: RowStore | None = None

    def enroll(self, one: MemberStart, since: int) -> bool:
        """Write it down as a member, if that batch is still to be planned."""
        candidate = Candidate(one.place.id, one.ready.name, one.plan, one.state, one.begin)
        ((member, state),) = compile_members([candidate], self._host.host)
        if not self._opened:
            self._sink = self._joiner.runs.sink(one, self._host)
            self._opened, self._results = True, one.results
        one.results = self._results
        if not self._host.roster.add(member, state, since):
            return False
        # Killed before this, it is no member, and begins anew at the place that is written down.
        self._joiner.home.move_member(one.place.folder, self._host.roster.folder)
        self._joiner.runs.board(one, member, self._sink, self._host, since)
        return True

    def withdraw(self, member: str) -> None:
        """It is no member after all."""
        entry = self._host.roster.entries.get(member)
        if entry is not None:
            self._host.roster.end(member, entry.since, "it did not join", dropped=True)
        if self._sink is not None:
            self._sink.close()
