"""New state for a query that is altered, filled from the histories of the streams that it reads.

It is the state that the query would have if it had always been what it is to be. So each answer is given by the
definition that was in force when the last row was read that it waited for: those up to the place in the histories where
the old definition stands still, by the old one; all others by the new one.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from millstream.catalog.definitions import Stream
from millstream.catalog.far_times import moment_text
from millstream.catalog.moment import MICROSECOND, At, Moment
from millstream.connectors.places.query_place import HOLD
from millstream.errors import RunError
from millstream.history.index import Extent, Index, Piece
from millstream.history.moments import Bound, begin_at
from millstream.history.reading_positions import read_to
from millstream.mill.engine.prepared_query import ReadyQuery
from millstream.mill.engine.starts import kept_starts
from millstream.mill.manage.new_state import NewState
from millstream.plan.column_origins import has_state
from millstream.plan.reach_back import reach_back


@dataclass
class FromHistory(NewState):
    """State that a run over the history leaves behind; its answers go nowhere, as the old definition has given its own.

    `filled` is up to where it has run.
    """

    filled: dict[str, int] = field(default_factory=dict)

    def beside(self) -> None:
        """Find where to begin, and fill up to where the old definition has come by now, which is most of the way."""
        with self.engine.readers.pin():
            self.begun = self._begun()
            if not has_state(self.step.now.plan):
                return
            self._begin()
            self.save()
        self._fill({name: min(at) for name, at in read_to(self._checkpoint).ends.items() if name in self.starts})

    @contextlib.contextmanager
    def switching(self) -> Iterator[None]:
        """Hold the old definition where it stands, and fill up to there."""
        hold = self._checkpoint.with_name(HOLD)
        try:
            stands = self._stand_still(hold)
            if has_state(self.step.now.plan):
                self._fill(stands)
            else:
                self.starts = {name: Bound(position) for name, position in stands.items()}
                self.save()
            yield
        finally:
            hold.unlink(missing_ok=True)

    @property
    def told(self) -> str:
        """Whether anything is missing."""
        if not has_state(self.step.now.plan):
            return "it goes on from where it was"
        if self.complete is None:
            return "its state is filled from history, and it goes on from where it was"
        return (
            "its state is filled from history, and it goes on from where it was, but for windows that began before "
            f"{moment_text(self.complete)}: for these the history is too short"
        )

    # -- where to begin ------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """With what the first answers depend on, but not before the query itself began."""
        reach, watermark = reach_back(self.step.now.plan), self._watermark()
        for name, stream in self.kept.items():
            index, begun = self._index(stream), self.begun[name]
            since = None if reach is None or watermark is None else watermark - reach
            found = begun if since is None else _later(begun, Bound(index.first_since(since), since, since))
            extent = index.extent
            if begun.position < extent.begin:
                found = self._shortened(stream, found, reach, extent)
            if found.whole is not None and (since is None or found.whole > since) and reach is not None:
                self.complete = max(found.whole, self.complete or found.whole)
            self.starts[name] = found

    def _shortened(self, stream: Stream, found: Bound, reach: int | None, extent: Extent) -> Bound:
        """Where to begin, as some has been trimmed of what came since the query began."""
        trimmed, name = extent.trimmed_newest, self.step.now.query.name
        needed = found.whole if reach is not None else found.time
        if trimmed is not None and needed is not None and needed > trimmed:
            return found._replace(position=max(found.position, extent.begin))  # and all of that is not needed
        if reach is None or trimmed is None:
            raise RunError(
                f"query {name} cannot be filled from the history of {stream.name}: it would count from its beginning, "
                "and some of that has been trimmed\n"
                f"help: let it begin anew: ALTER QUERY {name} AS SELECT ... STARTING NOW; or keep what it was"
            )
        return Bound(extent.begin, found.time, max(trimmed + 1, found.whole or trimmed + 1))

    def _begun(self) -> dict[str, Bound]:
        """Where the query began, if it is to begin at the same moment; else where it is to begin."""
        before, now = self.step.before.query, self.step.now.query
        known = kept_starts(self._folder, begun=True) if str(before.start) == str(now.start) else {}
        moment = now.start or Moment(At.EARLIEST)
        return {
            name: known.get(name) or begin_at(self._index(stream), stream.name, moment)
            for name, stream in self.kept.items()
        }

    def _watermark(self) -> int | None:
        """A time before which the old definition has answered all; None if nothing says so."""
        ends = read_to(self._checkpoint).ends
        found = []
        for name, stream in self.kept.items():
            read = _pieces_before(self._index(stream), min(ends.get(name, [0])))
            if stream.time is None or not read or read[-1].so_far is None:
                return None
            found.append(read[-1].so_far - stream.slack // MICROSECOND)
        return min(found, default=None)

    # -- where the old definition stands -------------------------------------------------------------------

    @property
    def _folder(self) -> Path:
        return self.engine.home.query_folder(self.step.before.query.name)

    @property
    def _checkpoint(self) -> Path:
        """That of the query, or of the host that it is a member of; one that has left a host has a host of its own."""
        return (self.engine.home.host_of(self.step.before.query.name) or self._folder) / "checkpoint"

    def _stand_still(self, hold: Path) -> dict[str, int]:
        """How far the old definition has read each history, when it has given all answers up to there."""
        _write(hold, {})
        ends = self._settled()
        if any(len(set(each)) > 1 for each in ends.values()):  # a stream is read twice, and was between the two
            _write(hold, {name: max(each) for name, each in ends.items()})
            ends = self._settled()
        begun = kept_starts(self._folder)
        stands = {}
        for name, stream in self.kept.items():
            if name in ends:
                stands[name] = max(ends[name])
            else:
                stands[name] = begun[name].position if name in begun else self._index(stream).extent.end
        return stands

    def _settled(self) -> Mapping[str, Sequence[int]]:
        running = self.step.running
        if running is not None and running.is_active:
            running.settle()
        elif not read_to(self._checkpoint).done:
            self._complete_batch()
        return read_to(self._checkpoint).ends

    def _complete_batch(self) -> None:
        """A query that was stopped amid a batch has perhaps given some of its answers: let it give all."""
        engine, name = self.engine, self.step.before.query.name
        earlier = engine.queries.by_name.get(name.lower())
        results = None if earlier is None else earlier.results
        running = engine.starter.start(ReadyQuery(self.step.before, self.manner, results))
        try:
            running.settle()
        except RunError as problem:
            raise RunError(
                f"query {name} was stopped amid a batch, and cannot complete it, so that nobody knows which of its "
                f"answers it has given: {problem}\n"
                f"help: let it begin anew: ALTER QUERY {name} AS SELECT ... STARTING NOW"
            ) from problem
        finally:
            running.stop()
            del engine.queries.by_name[name.lower()]
            if earlier is not None:
                engine.queries.by_name[name.lower()] = earlier

    # -- filling -------------------------------------------------------------------------------------------

    def _fill(self, stops: Mapping[str, int]) -> None:
        """Run on, up to these positions."""
        before = {name: self.filled.get(name, start.position) for name, start in self.starts.items()}
        ends = {name: max(position, stops.get(name, position)) for name, position in before.items()}
        if ends != before:
            self.engine.lone.fill(self.step.now, self.manner, self.place, self.starts, ends)
            self.filled = ends

    def _index(self, stream: Stream) -> Index:
        return self.engine.readers.open(stream).log.index


def _pieces_before(index: Index, position: int) -> list[Piece]:
    return [piece for piece in index.pieces(0, position) if piece.end <= position]


def _later(one: Bound, other: Bound) -> Bound:
    """What lies behind both."""
    times = [bound.time for bound in (one, other) if bound.time is not None]
    wholes = [bound.whole for bound in (one, other) if bound.whole is not None]
    return Bound(max(one.position, other.position), max(times, default=None), max(wholes, default=None))


def _write(hold: Path, positions: Mapping[str, int]) -> None:
    new = hold.with_suffix(".new")
    new.write_text(json.dumps(positions))
    new.replace(hold)
