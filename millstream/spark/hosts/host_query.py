"""A host that runs: its Spark query, and the members that can each be waited for, stopped, or fail alone."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from millstream.errors import RunError
from millstream.spark.host import Host
from millstream.spark.hosts.host_counts import HostCounts
from millstream.spark.hosts.host_sink import HostSink, RunningMember
from millstream.spark.hosts.roster import Roster, is_committed
from millstream.spark.process.failures import SPARK_ERRORS
from millstream.spark.process.jvm import hang_up_at_end, hang_up_if_interrupted
from millstream.spark.run.bounded_run import Handle, last_of
from millstream.spark.run.query_events import SparkEvent
from millstream.spark.stage.local_copy import forget_copies

LOG = logging.getLogger(__name__)

LAST_WORD_SECONDS = 10.0
LOOK_SECONDS = 0.01


@dataclass
class HostQuery:
    """The driver's side of a host."""

    name: str
    host: Host
    roster: Roster
    counts: HostCounts
    part: Callable[[RunningMember, int], None]
    """Gives a member that leaves a host of its own, which begins with that batch."""
    pace: str = ""
    """How often it looks for input, and how it hears of the clock: what joins it wants the same."""
    sink: HostSink = field(init=False)
    ended: threading.Event = field(default_factory=threading.Event)
    stopping: bool = False
    _handle: Handle | None = None

    def __post_init__(self) -> None:
        self.sink = HostSink(self.host.spark, self.counts, self.leave)

    @property
    def handle(self) -> Handle:
        """The Spark query, once it runs."""
        if self._handle is None:
            raise RunError(f"{self.name} does not run yet")
        return self._handle

    @property
    def members(self) -> Sequence[RunningMember]:
        """The members that it has now."""
        return [one for one in self.sink.running_members.values() if not one.departure.is_set()]

    def run(self, handle: Handle) -> None:
        """Look after the Spark query that has been started."""
        self._handle = handle
        threading.Thread(target=self._watch, name=f"{self.name}-watch", daemon=True).start()

    def leave(self, one: RunningMember, until: int | None, why: str, parts: bool = True) -> None:
        """A member has its rows of the batches before one, and gets none from there on; None: of those handed out.

        While others go on, it `parts` from them: it can go on by itself, from that batch.
        """
        with self.sink.handout_lock:
            if one.departure.is_set():
                return
            if until is None:
                until = self.roster.first_batch if self.sink.next_batch is None else self.sink.next_batch
            if why:
                one.failure = why
            last = all(other is one for other in self.members)
            self.stopping = self.stopping or last  # so that nobody joins it
            parted = parts and not last and self._part_from_host(one, until)
            self.roster.end(one.member.id, until, why, dropped=parted)
            one.departure.set()
            if one.sink is not None:
                with contextlib.suppress(OSError):
                    one.sink.close()
        if last:  # not by the thread of the Spark query itself, which would wait for its own end
            threading.Thread(target=self._stop_quietly, name=f"{self.name}-stop", daemon=True).start()

    def _part_from_host(self, one: RunningMember, batch: int) -> bool:
        """Whether a member has a host of its own now; the batch before is complete soon, if it is not yet."""
        waited = 0.0
        while batch and not is_committed(self.roster.folder, batch - 1) and waited < LAST_WORD_SECONDS:
            time.sleep(LOOK_SECONDS)
            waited += LOOK_SECONDS
        try:
            self.part(one, batch)
        except OSError as problem:
            LOG.warning("%s leaves %s, and cannot go on by itself: %s", one.member.name, self.name, problem)
            return False
        return True

    def drop(self, member: str) -> None:
        """Forget a member and its state for good."""
        with self.sink.handout_lock:
            if member in self.roster.entries:
                self.roster.end(member, self.roster.next_batch, "dropped", dropped=True)

    def stop(self) -> None:
        """Stop the Spark query; all members go on from there when it is started again."""
        self.stopping = True
        with hang_up_if_interrupted():
            self.handle.stop()
        self.ended.wait(30)

    def _stop_quietly(self) -> None:
        with hang_up_at_end(), contextlib.suppress(*SPARK_ERRORS, RunError):
            self.stop()

    def _watch(self) -> None:
        with hang_up_at_end():
            try:
                with contextlib.suppress(*SPARK_ERRORS):  # whoever waits for a member is told by its own handle
                    self.handle.awaitTermination()
                with contextlib.suppress(*SPARK_ERRORS):
                    self.counts.finish(last_of(self.handle), LAST_WORD_SECONDS)
            finally:
                self.sink.close()
                if self.host.place is not None:
                    forget_copies(self.host.place.id)
                self.ended.set()


class MemberHandle:
    """A member as a running query knows its Spark query."""

    def __init__(self, host: HostQuery, one: RunningMember) -> None:
        self._host, self._one = host, one

    @property
    def host(self) -> HostQuery:
        """Where it is a member."""
        return self._host

    @property
    def running_member(self) -> RunningMember:
        """Its sink and its counts."""
        return self._one

    @property
    def member(self) -> str:
        """Its id."""
        return self._one.member.id

    @property
    def recent(self) -> list[SparkEvent]:
        """What it did last is counted with its host."""
        return []

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether it still runs."""
        return not self._one.departure.is_set() and not self._host.ended.is_set() and bool(self._host.handle.isActive)

    def exception(self) -> Exception | None:
        """Why it failed: by itself, or with its host."""
        if self._one.failure is not None:
            return RunError(self._one.failure)
        return None if self._one.departure.is_set() else self._host.handle.exception()

    def awaitTermination(self, timeout: Any = None) -> bool | None:  # noqa: N802
        """Wait for its end; a failure is raised."""
        ended = _wait_for(self._one.departure, self._host.ended, timeout)
        if not ended:
            return False
        problem = self.exception()
        if problem is not None:
            raise problem
        return True

    def processAllAvailable(self) -> None:  # noqa: N802
        """Wait until all that is there has been processed."""
        if not self._one.departure.is_set():
            self._host.handle.processAllAvailable()
        problem = self.exception()
        if problem is not None:
            raise problem

    def stop(self) -> None:
        """Leave the host; with the last member it stops."""
        host = self._host
        if host.ended.is_set() or host.stopping or self._one.departure.is_set():
            return
        if len(host.members) == 1:
            host.stop()
        else:
            host.leave(self._one, None, "")


def _wait_for(one: threading.Event, other: threading.Event, timeout: float | None) -> bool:
    """Wait for either of two events."""
    step = timedelta(milliseconds=50).total_seconds()
    waited = 0.0
    while not other.wait(step if timeout is None else min(step, max(timeout - waited, 0.0))):
        waited += step
        if one.is_set():
            return True
        if timeout is not None and waited >= timeout:
            return one.is_set()
    return True
