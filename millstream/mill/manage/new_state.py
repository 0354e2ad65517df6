"""New state for a query that is altered, where what it has does not fit.

It is made in a folder of its own before the store speaks of that, so that a crash leaves the old query or the new one.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field

from millstream.catalog.definitions import Stream
from millstream.catalog.far_times import moment_text
from millstream.catalog.moment import At, Moment
from millstream.connectors.places.query_place import QueryPlace
from millstream.history.moments import Bound, begin_at
from millstream.mill.engine.engine import Engine
from millstream.mill.engine.starts import keep_complete, keep_starts
from millstream.mill.home.home import QUERIES
from millstream.mill.manage.step import Step
from millstream.mill.manner import Manner
from millstream.plan.column_origins import has_state
from millstream.plan.reads import streams_of


@dataclass
class NewState(ABC):
    """A folder with state for a query as it is to be.

    `starts` say where it begins in the histories that it reads, `begun` where the query had begun, if that was earlier,
    and `complete` from which time on it leaves no answer out, if it leaves some out.
    """

    step: Step
    manner: Manner
    engine: Engine
    place: QueryPlace
    starts: dict[str, Bound] = field(default_factory=dict)
    begun: dict[str, Bound] = field(default_factory=dict)
    complete: int | None = None

    def beside(self) -> None:  # noqa: B027  (there may be nothing to do)
        """Do what can be done while the query goes on as it was."""

    @contextlib.contextmanager
    def switching(self) -> Iterator[None]:
        """Let the query stand still, if it runs, and do what needs that."""
        yield

    def when_stopped(self) -> None:  # noqa: B027
        """Do what must wait until the query as it was has ended."""

    @property
    @abstractmethod
    def told(self) -> str:
        """What has become of the state, in words."""

    def save(self) -> None:
        """Write down where the query begins, and from when on its answers are complete."""
        if self.starts:
            keep_starts(self.step.now.query, self.place, self.starts, self.begun or None)
        keep_complete(self.place, self.complete)

    def discard(self) -> None:
        """Leave nothing of it."""
        self.engine.home.forget_folder(QUERIES, self.place.folder.name)

    @property
    def kept(self) -> dict[str, Stream]:
        """The kept streams that the query will read, by their names in small letters."""
        return {s.name.lower(): s for s in streams_of(self.step.now.plan) if s.keep is not None}


class BegunNow(NewState):
    """State that knows of nothing that came before.

    Of streams without a history nobody may know what came last, if the query has read nothing in this process.
    """

    _knows_all = True

    def when_stopped(self) -> None:
        """Pass over what the sources hold. Of histories nothing need be read for that."""
        readers = self.engine.readers
        with readers.pin():
            for name, stream in self.kept.items():
                self.starts[name] = begin_at(readers.open(stream).log.index, stream.name, Moment(At.NOW))
            self.save()
        newest = [bound.whole - 1 for bound in self.starts.values() if bound.whole is not None]
        others = [stream.name for stream in streams_of(self.step.now.plan) if stream.keep is None]
        if others:
            running = self.step.running
            found = [None if running is None else running.counts.newest_of(name) for name in others]
            known = [time for time in found if time is not None]
            self._knows_all = len(known) == len(others)
            newest += known
            self.engine.lone.pass_over(self.step.now, self.manner, self.place, self.starts)
        if newest and self._knows_all and has_state(self.step.now.plan):
            self.complete = max(newest) + 1
        self.save()

    @property
    def told(self) -> str:
        """From when on it is complete."""
        said = "it begins anew, with the rows that come from now on"
        if self.complete is None:
            return said if self._knows_all else f"{said}; what had begun before lacks rows"
        return f"{said}: answers are complete for what begins at {moment_text(self.complete)} or later"
