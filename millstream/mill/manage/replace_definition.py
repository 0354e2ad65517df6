"""A definition in the place of another one, beneath queries that run: they are stopped, and go on over the new one.

All is looked at before anything stops. Then, in this order: the queries stop; the store changes, as one; the catalog
changes; the queries start. A crash before the store changes leaves the old world, one after it the new. What fails on
the way is undone, and the queries go on as they were.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from millstream.catalog.catalog import Catalog, key_of
from millstream.catalog.definitions import Definition, Query, StoredTable, Stream
from millstream.errors import MillstreamError, RunError
from millstream.language.bound import Replace
from millstream.language.names import kind_of
from millstream.mill.answers import Answer
from millstream.mill.context import Context
from millstream.mill.engine.engine import Engine
from millstream.mill.engine.prepared_query import PreparedQuery, ReadyQuery
from millstream.mill.engine.rename_starts import rename_starts
from millstream.mill.engine.running import RunningQuery, has_started
from millstream.mill.manage.dependants import (
    bind_dependants,
    check_no_circle,
    check_state,
    dependants_of,
    why_no_state,
)
from millstream.mill.manage.from_history import FromHistory
from millstream.mill.manage.new_state import BegunNow, NewState
from millstream.mill.manage.queries import carry_results, forget_left_over
from millstream.mill.manage.step import Step
from millstream.mill.manner import Manner
from millstream.mill.stored.catalog_store import RENAMING, Entry
from millstream.mill.stored.definitions import anchor, at_its_base, settings_of
from millstream.plan.reads import streams_of
from millstream.spark.run.progress import Counts


@dataclass(frozen=True)
class HaltedQuery:
    """A query that runs, and must stop for a change: for a step of it, or as it shares a reading with one that must."""

    running: RunningQuery
    step: Step | None
    counts: Counts


@dataclass(frozen=True)
class Change:
    """What is to be stored, the catalog that is to be in force, and the queries that must stop for it and start again.

    The query that is changed has new `state`, if what it has does not fit. `renames`: what queries have left behind
    fits although it speaks of other names.
    """

    entries: Sequence[Entry]
    catalog: Catalog
    steps: Sequence[Step]
    old: Definition
    new: Definition
    state: NewState | None = None
    renames: bool = False


def replace_stated(bound: Replace, at: Context) -> Answer:
    """CREATE OR REPLACE, ALTER QUERY and ALTER STREAM."""
    definitions, engine = at.definitions, at.engine
    new = bound.new
    warnings = (*bound.warnings, *(bound.load() if bound.load is not None else ()))
    before = definitions.entry(bound.old)
    if before is None:
        raise RunError(f"{kind_of(bound.old)} {bound.old.name} cannot be changed: it is not stored")
    _check_fed(bound.old, new)
    if bound.keeps_base:
        entry = definitions.entry_for(new)
        new = at_its_base(new, entry, engine.base)
    else:
        new = anchor(new, at.base) if at.base != engine.base else new
        entry = definitions.entry_for(new, at.base)
    done = replace_definition(bound.old, new, entry, at, bound.starting_now)
    started = done.started
    if isinstance(bound.old, StoredTable):
        engine.stored.remove(bound.old)
    after = definitions.store.find(entry.key)
    version = "" if after is None else f", version {after.version}"
    word = "altered" if bound.keeps_base or isinstance(new, Query) else "replaced"
    told = f"{word} {kind_of(new)} {new.name}{version}"
    if done.state is not None:
        told += f"; {done.state.told}"
    elif isinstance(new, Query) and started:
        told += "; it goes on from where it was"
    others = [query.name for query in started if query.name != new.name]
    told += f"; {', '.join(others)} started again" if others else ""
    query = next((query for query in started if isinstance(new, Query) and query.name == new.name), None)
    return Answer("\n".join([told, *warnings]), query=query)


def _check_fed(old: Definition, new: Definition) -> None:
    """Rows that were put into a stream are read as what they are: with its columns, and not in place of a source."""
    if not isinstance(old, Stream) or old.source is not None:
        return
    if not isinstance(new, Stream) or new.source is not None or old.arriving_schema != new.arriving_schema:
        raise RunError(
            f"stream {old.name} cannot be replaced by one that has other columns or a SOURCE: the rows of a stream "
            f"without a source are put into it, and stay\nhelp: DROP STREAM {old.name}, and create it anew"
        )


@dataclass(frozen=True)
class Done:
    """The queries that were started again, and the new state of the one that was changed, if it has such."""

    started: list[RunningQuery]
    state: NewState | None


def replace_definition(old: Definition, new: Definition, entry: Entry, at: Context, starting_now: bool = False) -> Done:
    """Put a definition in the place of another one."""
    definitions = at.definitions
    uses = frozenset(at.uses)
    check_no_circle(new, uses - {key_of(new)} if isinstance(new, Query) else uses, definitions.catalog)
    users = dependants_of(old, definitions)
    trial = definitions.catalog.copy()
    trial.remove(old)
    trial.add(new, uses)
    made = bind_dependants(new, users, {}, trial, definitions)
    pairs = [(u.definition, d) for u, (d, _) in zip(users, made, strict=True)]
    queries = [(was, is_) for was, is_ in [(old, new), *pairs] if isinstance(was, Query) and isinstance(is_, Query)]
    steps = prepared_steps(queries, trial, at)
    state = None
    for step in steps:
        reason = why_no_state(step.before, step.now, at.engine) if step.now.query is new else None
        if step.now.query is new and (starting_now or reason is not None):
            if new.parameters is not None:
                raise RunError(
                    f"query {new.name} cannot go on from the state that it has: {reason}\n"
                    "help: keep what it was; or create a query of another name beside it"
                )
            if isinstance(new, Query) and new.into is not None:
                raise RunError(
                    f"query {new.name} feeds stream {new.into}, and cannot go on from the state that it has: {reason}\n"
                    f"help: keep what it was; or DROP QUERY {new.name}, and write the statement anew"
                )
            file = definitions.new_query_folder(new.name)
            entry = replace(entry, folder=file, left_over=entry.folder)
            state = _new_state(step, file, starting_now, at)
            continue
        check_state(new, step.before, step.now, at.engine)
        at.engine.hosts.decisions.check(step.now, _manner(step, at).settings)
    return Done(carry_out_change(Change([entry], trial, steps, old, new, state), at), state)


def _new_state(step: Step, file: str, starting_now: bool, at: Context) -> NewState:
    """From history, if all that the query reads is kept, as it was and as it is to be; else it begins now."""
    engine = at.engine
    place = engine.home.make_place(file, step.now.record)
    streams = [*streams_of(step.before.plan), *streams_of(step.now.plan)]
    kept = all(stream.keep is not None for stream in streams)
    make = FromHistory if kept and not starting_now else BegunNow
    return make(step, _manner(step, at), engine, place)


def prepared_steps(queries: Collection[tuple[Query, Query]], trial: Catalog, at: Context) -> list[Step]:
    """The queries that a change concerns, each prepared as it is and as it is to be."""
    engine = at.engine
    steps = []
    for was, is_ in queries:
        running = engine.queries.by_name.get(was.name.lower())
        steps.append(Step(engine.starter.prepare(was), engine.starter.prepare(is_, trial), running))
    return steps


def carry_out_change(change: Change, at: Context) -> list[RunningQuery]:
    """Stop, store, swap, start; or leave everything as it was. New state is made before, as far as that is possible."""
    with contextlib.ExitStack() as switching:
        try:
            if change.state is not None:
                change.state.beside()
                switching.enter_context(change.state.switching())
            return _swap(change, at)
        except BaseException as problem:
            if change.state is not None:
                change.state.discard()
            if isinstance(problem, MillstreamError) and not isinstance(problem, RunError):
                raise RunError(str(problem)) from problem
            raise


def _swap(change: Change, at: Context) -> list[RunningQuery]:
    definitions, engine = at.definitions, at.engine
    before = [found for entry in change.entries if (found := definitions.store.at(entry.id)) is not None]
    earlier = definitions.catalog
    active = [step for step in change.steps if step.running is not None and step.running.is_active]
    halted: list[HaltedQuery] = []
    started: list[RunningQuery] = []
    try:
        halted += [_make_halted(step.running, step) for step in active if step.running is not None]
        halted += [_make_halted(query) for query in engine.hosts.halt([one.running for one in halted])]
        for one in halted:
            one.running.stop(closing=False)
        if change.state is not None:
            change.state.when_stopped()
        _swap_listener(change.old, change.new, at)
        stored = _store(change, at)
        definitions.put_in_force(change.catalog)
        if change.renames:
            _rename_records(change, stored, at)
        for entry in stored:
            carry_results(entry, definitions)
        for step in change.steps:
            if step not in active:
                _carry_over(step, at)
        now = [None if one.step is None else one.step.now for one in halted]
        started += (has_started(outcome) for outcome in _start(halted, now, at))
    except BaseException:
        with contextlib.suppress(MillstreamError):
            engine.hosts.halt(started)
        for running in started:
            with contextlib.suppress(MillstreamError):
                running.stop(closing=False)
        _undo(change, before, earlier, at)
        _start_as_it_was(halted, at)
        raise
    if change.state is not None:
        engine.home.keep_place(change.state.place.folder.name)
    for entry in stored:
        forget_left_over(entry, definitions)
    return started


def _store(change: Change, at: Context) -> list[Entry]:
    definitions = at.definitions
    with definitions.store.transaction():
        stored = [
            definitions.store.put(replace(entry, pending=RENAMING) if change.renames else entry)
            for entry in change.entries
        ]
    if change.old.name.lower() != change.new.name.lower():
        definitions.take_folder_back(change.old)
    for entry in stored:
        definitions.give_folder(entry)
        definitions.unclaimed.discard(entry.key)
    return stored


def _undo(change: Change, before: Sequence[Entry], earlier: Catalog, at: Context) -> None:
    definitions = at.definitions
    with definitions.store.transaction():
        for entry in before:
            definitions.store.restore(entry)
    if change.old.name.lower() != change.new.name.lower():
        definitions.take_folder_back(change.new)
    for entry in before:
        definitions.give_folder(entry)
    definitions.put_in_force(earlier)
    if change.renames:
        for step in change.steps:
            _write_record(step.before, at)
        _rename_starts(change.new, change.old, at)
    with contextlib.suppress(RunError):
        _swap_listener(change.new, change.old, at)


def _rename_records(change: Change, stored: Sequence[Entry], at: Context) -> None:
    for step in change.steps:
        _write_record(step.now, at)
    _rename_starts(change.old, change.new, at)
    with at.definitions.store.transaction():
        for entry in stored:
            at.definitions.store.put(replace(entry, pending=None))


def _rename_starts(was: Definition, is_: Definition, at: Context) -> None:
    if isinstance(is_, Stream):
        rename_starts(at.engine.home, was.name, is_.name)


def _write_record(prepared: PreparedQuery, at: Context) -> None:
    """What a query has left fits, whatever names it speaks of."""
    name = prepared.query.name
    if (record := at.engine.home.record_of(name)) is not None:
        at.engine.home.write_record(name, replace(prepared.record, id=record.id))


def _make_halted(running: RunningQuery, step: Step | None = None) -> HaltedQuery:
    return HaltedQuery(running, step, running.counts)


def _start(
    halted: Sequence[HaltedQuery], prepared: Sequence[PreparedQuery | None], at: Context
) -> Iterator[RunningQuery | MillstreamError]:
    """Start again what was halted, those that share a reading together; their counts go on."""
    engine = at.engine
    ready = []
    for one, how in zip(halted, prepared, strict=True):
        engine.queries.by_name.pop(one.running.name.lower(), None)
        engine.templates.forget(one.running.name)
        now = how or engine.starter.prepare(engine.catalog.query(one.running.name) or one.running.definition)
        ready.append(ReadyQuery(now, one.running.manner, one.running.results))
    for one, outcome in zip(halted, engine.starter.start_all(ready, despite=True), strict=True):
        if isinstance(outcome, RunningQuery):
            outcome.counts.go_on_from(one.counts)
        yield outcome


def _carry_over(step: Step, at: Context) -> None:
    """What is known of a query that does not run, under its name as it is to be."""
    engine = at.engine
    was, is_ = step.before.query.name.lower(), step.now.query.name.lower()
    if step.running is not None:
        engine.queries.by_name[is_] = engine.queries.by_name.pop(was)
        step.running.definition = step.now.query
    engine.templates.rename(step.before.query.name, step.now.query)
    if (reason := engine.queries.failures.pop(was, None)) is not None:
        engine.queries.failures[is_] = reason


def _start_as_it_was(halted: Sequence[HaltedQuery], at: Context) -> None:
    """Let queries go on after a change that was undone; if that fails too, it is told as their failure."""
    outcomes: list[RunningQuery | MillstreamError]
    try:
        outcomes = list(_start(halted, [None if one.step is None else one.step.before for one in halted], at))
    except MillstreamError as problem:
        outcomes = [problem] * len(halted)
    for one, outcome in zip(halted, outcomes, strict=True):
        if isinstance(outcome, MillstreamError):
            at.engine.queries.by_name[one.running.name.lower()] = one.running
            with contextlib.suppress(MillstreamError):
                one.running.give_up(str(outcome))


def _manner(step: Step, at: Context) -> Manner:
    if step.running is not None:
        return step.running.manner
    entry = at.definitions.entry(step.now.query)
    return Manner(settings_of(entry), at.display)


def _swap_listener(old: Definition, new: Definition, at: Context) -> None:
    """Close the port of a stream that goes, and open that of the one in its place, unless they are the same.

    Its reader, if it is kept, is begun anew: it goes by what the stream is now.
    """
    engine = at.engine
    was = old if isinstance(old, Stream) else None
    becomes = new if isinstance(new, Stream) else None
    if was is not None:
        engine.readers.close(was)
    _swap_port(was, becomes, engine)
    if becomes is not None:
        try:
            engine.streams.land([becomes])
        except BaseException:
            _swap_port(becomes, was, engine)
            if was is not None:
                engine.streams.land([was])
            raise


def _swap_port(was: Stream | None, becomes: Stream | None, engine: Engine) -> None:
    if was is not None and becomes is not None and (was.source, was.options) == (becomes.source, becomes.options):
        engine.listeners.rename(was.name, becomes.name)
        return
    if was is not None:
        engine.listeners.close(was)
    if becomes is not None:
        try:
            engine.streams.listen(becomes)
        except BaseException:
            if was is not None:
                engine.streams.listen(was)
            raise
