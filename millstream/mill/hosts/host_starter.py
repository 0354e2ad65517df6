"""Starts hosts: the folder of a host, its roster, and the places of its members."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from pyspark.errors import AnalysisException

from millstream.connectors.places.query_place import QueryPlace
from millstream.errors import MillstreamError, RunError
from millstream.history.moments import Bound
from millstream.mill.engine.prepared_query import ReadyQuery
from millstream.mill.engine.query_registry import QueryRegistry
from millstream.mill.engine.running import RunningQuery
from millstream.mill.engine.runtime import Runtime
from millstream.mill.engine.starts import start_of_host, starts_of
from millstream.mill.home.home import HOSTS, Home
from millstream.mill.home.trust import check_queries
from millstream.mill.hosts.decisions import Decisions
from millstream.mill.hosts.member_runs import MemberRuns
from millstream.mill.hosts.member_start import MemberStart, begin_of, states_from
from millstream.mill.hosts.running_hosts import RunningHosts
from millstream.mill.streams.open_streams import OpenStreams
from millstream.plan.column_origins import holds_back
from millstream.plan.sharing.sharing_decision import SharingDecision
from millstream.spark.buckets import bucket_ids, task_count
from millstream.spark.hosts.compile_member import Candidate, compile_members
from millstream.spark.hosts.host_counts import HostCounts
from millstream.spark.hosts.host_frame import Reading, host_frame
from millstream.spark.hosts.host_query import HostQuery
from millstream.spark.hosts.host_sink import RunningMember
from millstream.spark.hosts.member import Member, SharedState
from millstream.spark.hosts.part_member import part_member
from millstream.spark.hosts.roster import Roster
from millstream.spark.process.failures import explain_failure, translate_failures
from millstream.spark.run.query import Clocks, start
from millstream.spark.run.silent_inputs import find_silent_inputs, quiet_stream
from millstream.spark.stage.local_copy import claim_copies


class HostStarter:
    """Starts the hosts of queries."""

    def __init__(
        self,
        home: Home,
        runtime: Runtime,
        decisions: Decisions,
        queries: QueryRegistry,
        hosts: RunningHosts,
        streams: OpenStreams,
    ) -> None:
        self._home, self._runtime, self._decisions, self._queries = home, runtime, decisions, queries
        self._hosts, self._streams = hosts, streams
        self._runs = MemberRuns(runtime.stored, streams.readers)

    def start(self, ready: Sequence[ReadyQuery], despite: bool) -> list[RunningQuery | MillstreamError]:
        """Start the host of some queries; what runs for each, or why it does not.

        The first one that cannot be started is the last, unless the others are to be started `despite` that.
        """
        outcomes: list[RunningQuery | MillstreamError] = []
        members: list[MemberStart] = []
        try:
            with translate_failures():
                place, found = self._place(ready)
                self._streams.land(one.plan.stream for one in found if one.plan is not None)
                roster = Roster(place.folder)
        except MillstreamError as problem:
            return [problem] * (len(ready) if despite else 1)
        begins: dict[str | None, dict[str, Bound]] = {}
        for one, decision in zip(ready, found, strict=True):
            self._queries.let_go(one)
            try:
                with translate_failures():
                    members.append(self._prepare_member(one, decision, place, roster, begins))
                    outcomes.append(RunError(f"query {one.name} was not started"))  # until it is
            except MillstreamError as problem:
                outcomes.append(problem)
                if not despite:
                    break
        try:
            with translate_failures():
                self._part_others(place, roster, members)
                running = iter(self._begin(members, place, roster) if members else [])
        except MillstreamError as problem:
            names = {one.ready.name for one in members}
            return [problem if one.name in names else o for one, o in zip(ready, outcomes, strict=False)]
        names = {one.ready.name for one in members}
        return [
            self._queries.know(next(running)) if one.name in names else outcome
            for one, outcome in zip(ready, outcomes, strict=False)
        ]

    def _place(self, ready: Sequence[ReadyQuery]) -> tuple[QueryPlace, list[SharingDecision]]:
        """The folder of a host, and what its queries do there."""
        found = [self._decisions.decide(one.prepared.query, one.prepared.plan, one.manner.settings) for one in ready]
        stream = next(one.plan.stream for one in found if one.plan is not None)
        folder = found[0].host or self._new_folder(stream.name)
        for host in self._hosts:
            if host.roster.folder == folder:
                names = " and ".join(one.name for one in found)
                raise RunError(
                    f"query {names} left its host, which goes on without it: what the others read does not come again\n"
                    "help: DROP QUERY and start it anew, or give it another name, to read from the beginning"
                )
        check_queries(self._home.root / HOSTS)
        return self._home.host_place(folder), found

    def _new_folder(self, stream: str) -> Path:
        return self._hosts.free(self._home.host_folder(stream, number) for number in count(1))

    def _prepare_member(
        self,
        ready: ReadyQuery,
        found: SharingDecision,
        host: QueryPlace,
        roster: Roster,
        begins: dict[str | None, dict[str, Bound]],
    ) -> MemberStart:
        """Make the place of a member, which must be able to go on if it has begun."""
        query = ready.prepared.query
        assert found.plan is not None  # noqa: S101  (only such are together)
        place = self._home.member_place(query.name, ready.prepared.record, host)
        entry, state = roster.entries.get(place.id), None
        starts = starts_of(query, place, [found.plan.stream], self._streams.readers, begins)
        if starts:
            found = self._decisions.decide(query, ready.prepared.plan, ready.manner.settings, starts)
        if found.plan is None:
            raise RunError(f"query {query.name} cannot run in a host: {found.why}")
        if not host.fresh:
            if entry is None:
                raise RunError(f"{host.folder} is damaged: it does not know query {query.name}")
            first = roster.first_batch
            if entry.until is not None and entry.until < first:
                raise RunError(
                    f"query {query.name} left its host at batch {entry.until}{f': {entry.why}' if entry.why else ''}; "
                    f"the others have read on to batch {first}, and what they have read does not come again\n"
                    "help: DROP QUERY and start it anew, or give it another name, to read from the beginning"
                )
            state = entry.state
        return MemberStart(ready, found.plan, found.buckets, state, place, begin_of(found.plan.stream, starts))

    def _part_others(self, place: QueryPlace, roster: Roster, members: Sequence[MemberStart]) -> None:
        """Members that are not started now with the others are given hosts of their own, from which they can go on."""
        here = {one.place.id for one in members}
        first = roster.first_batch
        folders = {} if place.fresh else self._home.folders_of_members(place.folder)
        for entry in list(roster.entries.values()):
            missed = entry.until is not None and entry.until < first
            if here and entry.member not in here and not missed and entry.member in folders:
                self._part(place.folder, folders[entry.member], entry.member, first)
                roster.end(entry.member, first, "it was not started with the others", dropped=True)

    def _part(self, host: Path, query: Path, member: str, batch: int) -> None:
        own = self._hosts.free(host.with_name(str(number)) for number in count(1))
        shutil.rmtree(own, ignore_errors=True)
        part_member(host, own, member, batch)
        self._home.move_member(query, own)

    def _begin(self, members: Sequence[MemberStart], place: QueryPlace, roster: Roster) -> list[RunningQuery]:
        here = replace(self._runtime.host_for(place), hold=place.hold)
        stream = members[0].plan.stream
        if stream.keep is not None:
            here = replace(here, starts=start_of_host(place, stream.name, [one.begin.position for one in members]))
        if place.fresh:
            states = states_from([(one.plan, one.begin) for one in members])
            for one, state in zip(members, states, strict=True):
                one.state = state
        counts = HostCounts(stream=stream)
        name = f"host.{stream.name}" + (f".{roster.folder.name}" if roster.folder.name != "1" else "")

        def leave(one: RunningMember, batch: int) -> None:
            query = self._home.folders_of_members(roster.folder)[one.member.id]
            self._part(roster.folder, query, one.member.id, batch)

        host = HostQuery(name, here, roster, counts, leave, members[0].pace)
        try:
            wanted = [one.buckets for one in members]
            if stream.keep is not None:
                wanted.append(task_count(here.spark))  # whoever joins finds as many
            bucket_ids(here, None if None in wanted else max(each or 1 for each in wanted))
            candidates = [Candidate(b.place.id, b.ready.name, b.plan, b.state, b.begin) for b in members]
            compiled = compile_members(candidates, here)
            for one, (member, _) in zip(members, compiled, strict=True):
                self._runs.board(one, member, self._runs.sink(one, host), host)
            with roster.gathered():
                self._enroll(members, compiled, host)
            self._start(host, members, [state for _, state in compiled], place)
        except BaseException as problem:
            host.sink.close()
            for one in members:
                self._home.undo(one.place)
            if isinstance(problem, AnalysisException):
                raise RunError(f"Spark refused the reading of {stream.name}: {explain_failure(problem)}") from problem
            raise
        self._hosts.add(host)
        return [self._runs.running(one, host) for one in members]

    def _enroll(
        self, members: Sequence[MemberStart], compiled: Sequence[tuple[Member, SharedState | None]], host: HostQuery
    ) -> None:
        """Write the members down: new ones from the first batch on, others as they were."""
        roster, place = host.roster, host.host.place
        assert place is not None  # noqa: S101  (a host has one)
        here = {member.id for member, _ in compiled}
        folders = self._home.folders_of_members(roster.folder)
        for entry in list(roster.entries.values()):
            if entry.member not in here and not entry.dropped:
                why, lost = entry.why or "it was not started with the others", entry.member not in folders
                roster.end(entry.member, roster.first_batch, why, dropped=lost)  # a kill came before it had joined
        for (member, state), one in zip(compiled, members, strict=True):
            if place.fresh:
                if not roster.add(member, state, 0):
                    raise RunError(f"{host.name} has read something before query {member.name} was there")
            else:
                roster.describe(member, state)
                roster.back(member.id, member.name)
            assert one.running_member is not None  # noqa: S101  (it was opened)
            one.running_member.since = roster.entries[member.id].since

    def _start(
        self, host: HostQuery, members: Sequence[MemberStart], states: Sequence[SharedState | None], place: QueryPlace
    ) -> None:
        settings = members[0].ready.manner.settings
        columns = {name for one in members for name in one.plan.read.names}
        ordered = any(state is not None and state.inlet.order is not None for state in states)
        reading = Reading(members[0].plan.stream, members[0].plan.files, columns, ordered)
        stateful = [one.logical for one in members if one.plan.stage is not None]
        quiet = find_silent_inputs(stateful[0]) if stateful else ()
        logs = {reader.stream.name: reader.tell for reader in self._runs.readers_of(members[0])}
        if logs and (falls_silent := quiet_stream(reading.stream)) is not None:
            quiet = (falls_silent,)  # one that joins may wait for it
        clocks = Clocks(None, quiet, settings.heartbeats, any(holds_back(plan) for plan in stateful), logs)
        label = self._runtime.follow(host.name, host.counts)
        handle = start(
            host.host,
            host_frame(reading, host.host, secrets.token_hex(8)),
            host.sink,
            place,
            host.counts,
            name=label,
            trigger=settings.trigger_interval,
            clocks=clocks,
            streams=[reading.stream],
            buckets=len(bucket_ids(host.host, None)),
            timing=self._runtime.timing,
        )
        claim_copies(place.id)
        host.run(handle)
