"""The hosts of a mill that run, and which of them a query can join."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from millstream.catalog.definitions import Query
from millstream.catalog.moment import At, Moment
from millstream.errors import RunError
from millstream.history.moments import begin_at
from millstream.history.reading_positions import planned_end
from millstream.mill.home.home import has_planned
from millstream.mill.streams.readers import Readers
from millstream.plan.sharing.sharing_decision import SharingDecision
from millstream.spark.buckets import bucket_ids
from millstream.spark.hosts.host_query import HostQuery


class RunningHosts:
    """The hosts that run."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._hosts: list[HostQuery] = []

    def __iter__(self) -> Iterator[HostQuery]:
        return iter([host for host in self._hosts if not host.ended.is_set()])

    def add(self, host: HostQuery) -> None:
        """Know a host that has been started."""
        self._hosts = [*self, host]

    def free(self, folders: Iterable[Path]) -> Path:
        """The first of some folders that no host has."""
        taken = {host.roster.folder for host in self}
        return next(folder for folder in folders if folder not in taken and not has_planned(folder))

    def open_to(self, found: SharingDecision, query: Query) -> HostQuery | None:
        """A host that still has before it all that a query is to read, and reads as the query would."""
        if found.plan is None or found.host is not None:
            return None
        stream = found.plan.stream.name
        return next((host for host in self.reading(found) if self._is_before(host, query, stream)), None)

    def reading(self, found: SharingDecision) -> list[HostQuery]:
        """The hosts that read a kept stream as a query would, wherever they are."""
        return [host for host in self if self._takes(host, found)]

    def _takes(self, host: HostQuery, found: SharingDecision) -> bool:
        if found.plan is None or found.plan.stream.keep is None:
            return False
        same = (host.counts.stream, host.pace) == (found.plan.stream, found.pace)
        if not same or host.host.once or host.stopping or not host.members:
            return False
        return (found.buckets or 1) <= len(bucket_ids(host.host, None))

    def _is_before(self, host: HostQuery, query: Query, stream: str) -> bool:
        """Whether a query begins where the host is, or further on."""
        reader = self._readers.find(stream)
        if reader is None:
            return False
        planned = planned_end(host.roster.folder, stream)
        try:
            return begin_at(reader.log.index, stream, query.start or Moment(At.EARLIEST)).position >= planned
        except RunError:  # it asks for more than is kept, and is told so where it starts
            return False
