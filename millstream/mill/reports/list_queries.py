"""The rows of SHOW QUERIES: the state of each query and since when, its version, and its counts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from millstream.catalog.catalog import QUERY, key_of
from millstream.catalog.definitions import Query
from millstream.catalog.far_times import moment_text
from millstream.mill.engine.engine import Engine
from millstream.mill.engine.running import RunningQuery
from millstream.mill.engine.starts import when_complete
from millstream.mill.home.home import Home
from millstream.mill.stored.catalog_store import STOPPED, Entry

COLUMNS = ("query", "state", "since", "version")
DONE = ("batches", "rows in", "rows out", "rejected", "late", "moved most by", "complete from", "text")


def query_rows(engine: Engine) -> Iterator[tuple[object, ...]]:
    """A row for each query: those that run or have ended in this process, those that are stopped, and broken ones."""
    for query in engine.catalog.all(Query):
        running = engine.queries.by_name.get(query.name.lower())
        entry = engine.definitions.store.find(key_of(query))
        state, since = _state(query, running, entry, engine)
        version = None if entry is None else entry.version
        text = " ".join(query.text.split())
        yield (query.name, state, since, version, *_done(running), complete_from(engine.home, query), text)
    for key, broken in engine.catalog.broken.items():
        if key[0] == QUERY:
            entry = engine.definitions.store.find(key)
            version = None if entry is None else entry.version
            text = " ".join(broken.text.split())
            yield (broken.name, f"broken: {broken.reason}", None, version, *_done(None), None, text)


def _state(query: Query, running: RunningQuery | None, entry: Entry | None, engine: Engine) -> tuple[str, str | None]:
    """The state of a query in a word, with the reason of a failure, and since when it has it."""
    changed = None if entry is None else _seconds(datetime.fromisoformat(entry.changed))
    if running is not None and running.is_active:
        return "running", _seconds(running.since)
    if entry is not None and entry.wanted == STOPPED:
        return "stopped", changed
    if running is not None:
        ended = None if running.counts.ended_at is None else _seconds(running.counts.ended_at)
        return f"failed: {running.failure}" if running.failure else "ended", ended
    reason = engine.queries.failures.get(query.name.lower())
    return (f"failed: {reason}" if reason else "ended"), changed


def complete_from(home: Home, query: Query) -> str | None:
    """From which time on its answers are complete, if it has begun amid what its streams bring."""
    found = when_complete(home.query_folder(query.name))
    return None if found is None else moment_text(found)


def _done(running: RunningQuery | None) -> tuple[object, ...]:
    if running is None:
        return (None,) * (len(DONE) - 2)
    counts = running.counts
    leaps = ", ".join(f"{stream} {moment_text(leap.to)}" for stream, leap in counts.leaps.items())
    late, rejected = sum(counts.late.values()), sum(counts.rejected.values())
    return (counts.batches, counts.rows_in, counts.rows_out, rejected, late, leaps or None)


def _seconds(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
