"""Named queries: stopped, started and dropped.

The store says what is to be before it is done, so that a crash at any moment leaves a query as it was or as it is to
be; docs/catalog.md has the moments.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from millstream.catalog.catalog import QUERY, RELATION, Catalog, Key
from millstream.catalog.definitions import Query
from millstream.errors import RunError
from millstream.mill.context import Context
from millstream.mill.engine.prepared_query import ReadyQuery
from millstream.mill.engine.running import RunningQuery
from millstream.mill.home.home import QUERIES, TABLES
from millstream.mill.manner import Manner
from millstream.mill.stored.catalog_store import DROPPING, RUNNING, STOPPED, Entry
from millstream.mill.stored.definitions import COLUMNS, Definitions, settings_of
from millstream.mill.stored.stored_rows import RESULTS
from millstream.store.carry_log import carry_log


def stop_query(query: Query, at: Context) -> str:
    """Stop a query, and keep its name and its checkpoint."""
    engine = at.engine
    running = engine.queries.by_name.get(query.name.lower())
    entry = at.definitions.entry(query)
    if entry is None:  # a SELECT without a name
        drop_query(query, at)
        return f"stopped {query.name}"
    if entry.wanted == STOPPED and (running is None or not running.is_active):
        return f"query {query.name} is stopped already"
    with _unless_refused(at.definitions, entry, replace(entry, wanted=STOPPED)):
        if running is not None:
            running.stop()
    engine.queries.failures.pop(query.name.lower(), None)
    return f"stopped query {query.name}"


def start_query(query: Query, at: Context) -> tuple[str, RunningQuery]:
    """Let a query go on from its checkpoint."""
    engine, definitions = at.engine, at.definitions
    running = engine.queries.by_name.get(query.name.lower())
    entry = definitions.entry(query)
    if running is not None and running.is_active:
        return f"query {query.name} runs already", running
    if entry is None:
        raise RunError(f"{query.name} has left nothing to go on from\nhelp: run the SELECT again")
    manner = running.manner if running is not None else Manner(settings_of(entry), at.display)
    with _unless_refused(definitions, entry, replace(entry, wanted=RUNNING)):
        if running is not None:
            started = engine.starter.restart(query.name, manner)
        else:
            started = engine.starter.start(ReadyQuery(engine.starter.prepare(query), manner))
    return f"started query {query.name}", started


def drop_query(query: Query, at: Context) -> None:
    """Stop a query for good, and forget what it has kept."""
    definitions, engine = at.definitions, at.engine
    entry = definitions.entry(query)
    if entry is None:
        engine.remove(query)
        definitions.hide(query)
        return
    with _unless_refused(definitions, entry, replace(entry, pending=DROPPING)):
        engine.remove(query)
    definitions.remove(query)


def drop_broken(key: Key, at: Context) -> str:
    """Forget a stored definition that does not bind any more, with all that it has kept."""
    definitions = at.definitions
    catalog = definitions.catalog.copy()
    name = catalog.broken[key].name
    for one in _with_its_twin(key, catalog):
        if (entry := definitions.store.find(one)) is not None:
            if entry.space == QUERY:
                at.engine.home.forget_query(entry.name)
            elif COLUMNS in entry.details and entry.folder is not None:
                at.engine.home.forget_folder(TABLES, entry.folder)
            definitions.forget(entry)
        catalog.remove_broken(one)
    definitions.put_in_force(catalog)
    return name


def _with_its_twin(key: Key, catalog: Catalog) -> list[Key]:
    """The key of what is broken, and that of the other one if it is a view or the query of one: the query first."""
    name = key[1]
    view, query = catalog.broken.get((RELATION, name)), catalog.broken.get((QUERY, name))
    is_view = view is not None and view.kind == "view" and query is not None and query.text == view.text
    return [(QUERY, name), (RELATION, name)] if is_view else [key]


def complete_drop(entry: Entry, definitions: Definitions) -> None:
    """Do the rest of a DROP QUERY that was killed, or of the CREATE of a query that had done nothing yet."""
    definitions.home.forget_query(entry.name)
    definitions.forget(entry)


def carry_results(entry: Entry, definitions: Definitions) -> None:
    """Give a query that begins anew in another folder the rows that it has kept, unless it has them."""
    if entry.left_over is not None and entry.folder is not None:
        queries = definitions.home.root / QUERIES
        carry_log(queries / entry.left_over / RESULTS, queries / entry.folder / RESULTS)


def forget_left_over(entry: Entry, definitions: Definitions) -> Entry:
    """Remove a folder that a query has no more use for since it began anew."""
    if entry.left_over is None:
        return entry
    definitions.home.forget_folder(QUERIES, entry.left_over)
    return definitions.store.put(replace(entry, left_over=None))


@contextmanager
def _unless_refused(definitions: Definitions, before: Entry, now: Entry) -> Iterator[None]:
    """Store an entry, and put it back as it was if what it says cannot be done."""
    definitions.store.put(now)
    try:
        yield
    except BaseException:
        definitions.store.restore(before)
        raise
