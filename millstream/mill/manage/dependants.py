"""Who stands on a definition: dependants bound again when it changes, and their queries looked at before any stops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from millstream.catalog.catalog import Catalog, Key, key_of
from millstream.catalog.definitions import Definition, DerivedStream, Query
from millstream.connectors.places.paths import absolute
from millstream.connectors.registry import connector
from millstream.errors import MillstreamError, RunError
from millstream.language.names import kind_of
from millstream.mill.engine.engine import Engine
from millstream.mill.engine.prepared_query import PreparedQuery
from millstream.mill.engine.starts import kept_starts
from millstream.mill.stored.bind_again import bind_again
from millstream.mill.stored.catalog_store import Entry
from millstream.mill.stored.definitions import Definitions
from millstream.plan.column_origins import has_state
from millstream.plan.reads import streams_of


@dataclass(frozen=True)
class Dependant:
    """A definition that uses another one, directly or not, and its entry."""

    definition: Definition
    entry: Entry


def dependants_of(definition: Definition, definitions: Definitions) -> list[Dependant]:
    """All that use a definition, in an order in which they can be bound; a SELECT that runs stands in the way."""
    catalog = definitions.catalog
    found: dict[Key, Definition] = {}
    waiting = [definition]
    while waiting:
        for user in catalog.dependants(waiting.pop()):
            if key_of(user) not in found and not (isinstance(user, Query) and not catalog.holds(user)):
                found[key_of(user)] = user
                waiting.append(user)
    ordered: list[Dependant] = []
    while found:
        free = [key for key, user in found.items() if not (catalog.used_by(user) & found.keys())]
        for key in free:
            user = found.pop(key)
            if (entry := definitions.entry(user)) is None:
                raise RunError(
                    f"{kind_of(definition)} {definition.name} is used by {user.name}, which cannot be made again\n"
                    f"help: stop {user.name} first"
                )
            ordered.append(Dependant(user, entry))
    return ordered


def check_no_circle(new: Definition, uses: frozenset[Key], catalog: Catalog) -> None:
    """Refuse a definition that would be made from itself, by way of others."""
    seen: set[Key] = set()
    waiting = set(uses)
    if isinstance(new, DerivedStream):
        waiting |= {("relation", name.lower()) for name in new.select.reads}
    while waiting:
        key = waiting.pop()
        if key == key_of(new):
            raise RunError(
                f"{kind_of(new)} {new.name} would be made from itself\n"
                f"help: give the new one another name, or let what it reads not use {new.name}"
            )
        user = catalog.at(key)
        if user is not None and key not in seen:
            seen.add(key)
            waiting |= catalog.used_by(user)


def bind_dependants(
    changed: Definition, users: Sequence[Dependant], texts: Mapping[Key, str], trial: Catalog, definitions: Definitions
) -> list[tuple[Definition, Entry]]:
    """Bind dependants in a catalog in which something has changed, perhaps with other `texts`; they are put into it."""
    made = []
    for user in users:
        entry = replace(user.entry, text=texts.get(user.entry.key, user.entry.text))
        try:
            again = bind_again(entry, trial, definitions.base, definitions.home)
        except MillstreamError as problem:
            raise RunError(
                f"{kind_of(changed)} {changed.name} is used by {kind_of(user.definition)} {user.definition.name}, "
                f"which would not bind any more: {_sentence(problem)}\n"
                f"help: change or drop {user.definition.name} first"
            ) from problem
        trial.add(again.definition, again.uses)
        made.append((again.definition, entry))
    return made


def check_state(changed: Definition, before: PreparedQuery, now: PreparedQuery, engine: Engine) -> None:
    """Refuse a change after which a query that uses something could not go on from the state that it has."""
    reason = why_no_state(before, now, engine)
    if reason is not None:
        raise RunError(
            f"{kind_of(changed)} {changed.name} is used by query {now.query.name}, which could not go on from the "
            f"state that it has: {reason}\nhelp: keep what it was; or drop query {now.query.name} first"
        )


def why_no_state(before: PreparedQuery, now: PreparedQuery, engine: Engine) -> str | None:
    """Why a query could not go on from the state that it has; None if it can, or has none."""
    name = now.query.name
    record = engine.home.record_of(name)
    if record is None:
        folder = engine.home.query_folder(name)
        amid = kept_starts(folder) != kept_starts(folder, begun=True)
        return "it is to begin where it was altered last" if amid and has_state(now.plan) else None
    return record.changes(now.record, engine.home.host_of(name) is None) or _other_places(before, now, engine)


def _other_places(before: PreparedQuery, now: PreparedQuery, engine: Engine) -> str | None:
    """Whether relative addresses of one text mean other places, as those of two scripts do."""
    was, becomes = _places(before, engine.base), _places(now, engine.base)
    for name, place in was.items():
        if becomes.get(name, place) != place:
            return f"stream {name} has read {place}, and would read {becomes[name]}"
    return None


def _places(prepared: PreparedQuery, base: Path) -> dict[str, str]:
    return {
        stream.name.lower(): absolute(Path(stream.source.base or base), stream.source.rest)
        for stream in streams_of(prepared.plan)
        if stream.source is not None and connector(stream.source).path
    }


def _sentence(problem: MillstreamError) -> str:
    return str(problem).splitlines()[0].removeprefix("error: ").removeprefix("error in ")
