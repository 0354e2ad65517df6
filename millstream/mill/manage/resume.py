"""A mill that starts again: what was left half done is completed, definitions are bound again, queries go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from millstream.catalog.catalog import Broken, Catalog
from millstream.catalog.definitions import PythonAggregate, Query, Stream
from millstream.errors import MillstreamError
from millstream.mill.engine.engine import Engine
from millstream.mill.engine.prepared_query import ReadyQuery
from millstream.mill.engine.rename_starts import rename_starts
from millstream.mill.manage.queries import carry_results, complete_drop, forget_left_over
from millstream.mill.manage.views import forget_without_query
from millstream.mill.manner import Display, Manner
from millstream.mill.stored.bind_again import BoundEntry, bind_again
from millstream.mill.stored.catalog_store import CREATING, DROPPING, RENAMING, STOPPED, Entry
from millstream.mill.stored.definitions import Definitions, settings_of, wants_to_run
from millstream.mill.stored.unknown_folders import unknown_folders
from millstream.spark.process.failures import translate_failures
from millstream.udas.python.declaration import add_folder


@dataclass(frozen=True)
class Resumed:
    """What a mill has resumed: the queries that go on, and why others do not."""

    queries: tuple[str, ...]
    problems: tuple[str, ...]


def recover(definitions: Definitions) -> None:
    """Complete what a process that was killed had begun; what it had not really begun was never there."""
    definitions.home.forget_made({entry.folder for entry in definitions.store.entries() if entry.folder is not None})
    for entry in definitions.store.entries():
        if entry.pending == DROPPING or (entry.pending == CREATING and not definitions.home.has_begun(entry.name)):
            complete_drop(entry, definitions)
        elif entry.pending == CREATING:
            definitions.store.put(replace(entry, pending=None))
        if entry.left_over is not None and entry.pending != DROPPING:
            carry_results(entry, definitions)
            forget_left_over(entry, definitions)
    forget_without_query(definitions)


def resume(engine: Engine, display: Display) -> Resumed:
    """Bind all that is stored and not there yet, and start the queries that are to run."""
    definitions = engine.definitions
    with definitions.lock:
        catalog = definitions.catalog
        waiting = [entry for entry in definitions.store.entries() if catalog.at(entry.key) is None]
        bound, problems = _take_up(waiting, engine)
        problems += _complete_renames(bound, engine)
        queries, failures = _start_all(bound, engine, display)
    return Resumed(tuple(queries), (*problems, *failures, *unknown_folders(definitions)))


def _complete_renames(bound: Sequence[tuple[Entry, BoundEntry]], engine: Engine) -> list[str]:
    """Do the rest of an ALTER ... RENAME that was killed: what queries have left behind fits, under the new names."""
    store, home, problems = engine.definitions.store, engine.home, []
    for entry, again in bound:
        if entry.pending != RENAMING:
            continue
        try:
            if isinstance(again.definition, Query) and (record := home.record_of(entry.name)) is not None:
                home.write_record(entry.name, replace(engine.starter.prepare(again.definition).record, id=record.id))
            elif isinstance(again.definition, Stream):
                for version in store.versions(entry)[-2:-1]:
                    rename_starts(home, version.name, entry.name)
            store.put(replace(entry, pending=None))
        except MillstreamError as problem:
            problems.append(f"{entry.kind} {entry.name} was being renamed: {problem}")
    return problems


def mend(engine: Engine, display: Display) -> list[str]:
    """Bind what is broken once more, since something has changed; what is mended, in words."""
    definitions = engine.definitions
    with definitions.lock:
        broken = definitions.catalog.broken
        bound, _ = _take_up([entry for entry in definitions.store.entries() if entry.key in broken], engine)
        _start_all(bound, engine, display)
    return [f"{entry.kind} {entry.name}" for entry, _ in bound]


def _take_up(waiting: Sequence[Entry], engine: Engine) -> tuple[list[tuple[Entry, BoundEntry]], list[str]]:
    """Put entries into the catalog, broken or bound, and say what is wrong with the broken ones."""
    definitions = engine.definitions
    catalog = definitions.catalog.copy()
    for entry in waiting:
        if entry.key in catalog.broken:
            catalog.remove_broken(entry.key)
    bound, problems = _bind_all(waiting, catalog, engine)
    definitions.put_in_force(catalog)
    definitions.unclaimed |= {entry.key for entry, _ in bound}
    return bound, problems


def _start_all(
    bound: Sequence[tuple[Entry, BoundEntry]], engine: Engine, display: Display
) -> tuple[list[str], list[str]]:
    """Start the queries that are to run, together; their names, and why others did not start."""
    ready: list[ReadyQuery] = []
    problems: dict[str, MillstreamError] = {}
    for entry, again in bound:
        if isinstance(again.definition, Query) and wants_to_run(entry):
            try:
                ready.append(_make_ready(again.definition, entry, engine, display))
            except MillstreamError as problem:
                problems[entry.name] = problem
    queries = []
    for one, outcome in zip(ready, engine.starter.start_all(ready, despite=True), strict=True):
        if isinstance(outcome, MillstreamError):
            problems[one.name] = outcome
        else:
            queries.append(one.name)
    for name, why in problems.items():
        engine.queries.failures[name.lower()] = str(why)
    return queries, [f"query {name} does not go on: {why}" for name, why in problems.items()]


def stop_unnamed(definitions: Definitions) -> list[str]:
    """Store that the queries that are not in the catalog are stopped, and tell their names.

    A script that is the catalog does not name them any more.
    """
    stopped = []
    with definitions.lock:
        for entry in definitions.store.entries():
            if wants_to_run(entry) and definitions.catalog.at(entry.key) is None:
                definitions.store.put(replace(entry, wanted=STOPPED))
                stopped.append(entry.name)
    return stopped


def _bind_all(
    waiting: Sequence[Entry], catalog: Catalog, engine: Engine
) -> tuple[list[tuple[Entry, BoundEntry]], list[str]]:
    """Bind entries in the order in which they were made, and again as long as others come to be there by that."""
    bound: list[tuple[Entry, BoundEntry]] = []
    reasons: dict[int, str] = {}
    while True:
        left = []
        for entry in waiting:
            try:
                again = _bind(entry, catalog, engine)
            except MillstreamError as problem:
                reasons[entry.id] = str(problem)
                left.append(entry)
                continue
            catalog.add(again.definition, again.uses)
            bound.append((entry, again))
        if len(left) == len(waiting):
            break
        waiting = left
    problems = []
    for entry in waiting:
        catalog.add_broken(entry.key, Broken(entry.kind, entry.name, entry.text, reasons[entry.id]))
        problems.append(f"{entry.kind} {entry.name} is broken: {reasons[entry.id]}")
    return sorted(bound, key=lambda pair: pair[0].id), problems


def _bind(entry: Entry, catalog: Catalog, engine: Engine) -> BoundEntry:
    again = bind_again(entry, catalog, engine.base, engine.home)
    if isinstance(again.definition, PythonAggregate) and entry.base:
        add_folder(entry.base)
    if again.load is not None:
        again.load()
    if isinstance(again.definition, Stream):
        engine.streams.open(again.definition)
    return again


def _make_ready(query: Query, entry: Entry, engine: Engine, display: Display) -> ReadyQuery:
    with translate_failures():
        engine.home.host_of(query.name)  # says so if it cannot tell
        return ReadyQuery(engine.starter.prepare(query), Manner(settings_of(entry), display))
