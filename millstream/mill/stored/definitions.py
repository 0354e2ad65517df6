"""The definitions of a mill: the catalog in force and the store behind it, which change together under one lock."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from millstream.catalog.address import Address
from millstream.catalog.catalog import QUERY, RELATION, Catalog, Key, key_of
from millstream.catalog.definitions import Definition, PythonAggregate, Query, Sink, Stream, Table
from millstream.catalog.settings import Settings
from millstream.connectors.places.paths import absolute
from millstream.connectors.registry import connector
from millstream.language.names import kind_of
from millstream.mill.home.home import LOGS, QUERIES, TABLES, Home
from millstream.mill.stored.catalog_store import CREATING, RUNNING, CatalogStore, Entry
from millstream.udas.bind.declare import adopt

SETTINGS, COLUMNS, ANCHORED = "settings", "columns", "anchored"
"""What details of an entry are: settings of a query, columns of a stored table, whether addresses are absolute."""


class Definitions:
    """Who changes something holds the `lock`; who only looks takes the `catalog`, which nobody changes any more."""

    def __init__(self, home: Home, base: Path) -> None:
        self.lock = threading.RLock()
        self.home = home
        self.base = base
        self.store = CatalogStore(home.catalog_file, durable=not home.temporary)
        self.unclaimed: set[Key] = set()
        """Those that were resumed, and that no statement of this process has spoken of again."""
        self._catalog = Catalog()
        self._declared = 0
        for entry in self.store.entries():
            self.give_folder(entry)

    @property
    def catalog(self) -> Catalog:
        """The catalog in force: it is replaced, and never changed."""
        return self._catalog

    def put_in_force(self, catalog: Catalog) -> None:
        """Replace the catalog; the store already says so."""
        with self.lock:
            self._catalog = catalog

    # -- in the catalog and in the store ---------------------------------------------------------------------

    def entry(self, definition: Definition) -> Entry | None:
        """What is stored of a definition; nothing of those that belong to a session or to this process."""
        return self.store.find(key_of(definition))

    def entry_for(
        self,
        definition: Definition,
        base: Path | None = None,
        settings: Settings | None = None,
        columns: Collection[tuple[str, str, bool]] | None = None,
    ) -> Entry:
        """The entry that a definition is to have, in place of what is stored under its name, if anything is.

        Without a `base`, addresses stay relative to where they were.
        """
        space, _ = key = key_of(definition)
        old = self.store.find(key)
        details: dict[str, Any] = {}
        where = old.base if old is not None and base is None else ""
        if base is None and old is not None and old.details.get(ANCHORED):
            details[ANCHORED] = True
        if base is not None and _depends_on_base(definition):
            where = str(base)
            if base != self.base:
                details[ANCHORED] = True
        if settings is not None:
            details[SETTINGS] = settings.texts
        elif old is not None and SETTINGS in old.details:
            details[SETTINGS] = old.details[SETTINGS]
        if columns is not None:
            details[COLUMNS] = [list(column) for column in columns]
        made = Entry(space, kind_of(definition), definition.name, definition.text, where, details)
        if old is not None:
            return replace(made, id=old.id, folder=old.folder or self._new_folder(made), wanted=old.wanted)
        return replace(made, folder=self._new_folder(made))

    def add(self, definition: Definition, entry: Entry, uses: Collection[Key]) -> None:
        """Put a definition into the store and into the catalog."""
        with self.lock:
            stored = self.store.put(entry)
            self.give_folder(stored)
            self.show(definition, uses)

    def remove(self, definition: Definition) -> None:
        """Take a definition out of the store and of the catalog."""
        with self.lock:
            if (entry := self.entry(definition)) is not None:
                self.forget(entry)
            self.hide(definition)

    def forget(self, entry: Entry) -> None:
        """Remove an entry; its folder may be another one's."""
        self.store.remove(entry)
        if (kind := folder_kind(entry)) is not None:
            self.home.take_back(kind, entry.name)
        self.unclaimed.discard(entry.key)

    @contextmanager
    def store_intent(self, entry: Entry) -> Iterator[Entry]:
        """Store an entry before what it speaks of is done; if that fails, the store is as it was."""
        before = self.store.find((entry.space, entry.name.lower()))
        stored = self.store.put(replace(entry, pending=CREATING) if before is None else entry)
        self.give_folder(stored)
        try:
            yield stored
        except BaseException:
            if before is None:
                self.forget(stored)
            else:
                self.store.restore(before)
                self.give_folder(before)
            raise

    # -- in the catalog alone ------------------------------------------------------------------------------

    def show(self, definition: Definition, uses: Collection[Key] = ()) -> None:
        """Put a definition into the catalog alone: it is stored, or belongs to a session or to this process."""
        with self.lock:
            changed = self._catalog.copy()
            changed.add(definition, uses)
            self._catalog = changed
            self.unclaimed.discard(key_of(definition))

    def hide(self, definition: Definition) -> None:
        """Take a definition out of the catalog alone."""
        with self.lock:
            changed = self._catalog.copy()
            changed.remove(definition)
            self._catalog = changed

    def let_go(self, queries: Collection[Query]) -> None:
        """Say which queries have come to nothing."""
        with self.lock:
            changed = self._catalog.copy()
            changed.let_go(queries)
            self._catalog = changed

    def adopt_declared(self) -> None:
        """Take up the classes that were declared in this process since the last time."""
        with self.lock:
            changed = self._catalog.copy()
            count = adopt(changed, self._declared)
            if count != self._declared:
                self._catalog, self._declared = changed, count

    def close(self) -> None:
        """Let go of the store."""
        with self.lock:
            self.store.close()

    # -- folders -------------------------------------------------------------------------------------------

    def new_query_folder(self, name: str) -> str:
        """The file name of a further folder for a query that begins anew."""
        return self.home.free_file(QUERIES, name, self._taken_folders(QUERIES))

    def new_table_folder(self, name: str) -> str:
        """The file name of a folder for the rows of a table."""
        return self.home.free_file(TABLES, name, self._taken_folders(TABLES))

    def take_folder_back(self, definition: Definition) -> None:
        """Say that the name of a definition has no folder any more."""
        space, name = key_of(definition)
        for kind in (QUERIES,) if space == QUERY else (LOGS, TABLES) if space == RELATION else ():
            self.home.take_back(kind, name)

    def _new_folder(self, entry: Entry) -> str | None:
        kind = folder_kind(entry)
        return None if kind is None else self.home.free_file(kind, entry.name, self._taken_folders(kind))

    def _taken_folders(self, kind: str) -> set[str]:
        return {entry.folder for entry in self.store.entries() if entry.folder and folder_kind(entry) == kind}

    def give_folder(self, entry: Entry) -> None:
        """Say which folder the name of an entry has."""
        if (kind := folder_kind(entry)) is not None and entry.folder is not None:
            self.home.give(kind, entry.name, entry.folder)


def settings_of(entry: Entry | None) -> Settings:
    """The settings of a stored query."""
    return Settings.of({} if entry is None else entry.details.get(SETTINGS, {}))


def wants_to_run(entry: Entry) -> bool:
    """Whether a query is to run when its mill resumes."""
    return entry.space == QUERY and entry.wanted == RUNNING


def at_base(definition: Definition, base: Path, home: Path) -> Definition:
    """A definition whose relative addresses start from `base`, where those of the mill start from `home`."""
    if base == home:
        return definition
    match definition:
        case Stream(source=Address() as source) if connector(source).path:
            return replace(definition, source=replace(source, base=str(base)))
        case Table(source=source) if connector(source).path:
            return replace(definition, source=replace(source, base=str(base)))
        case Sink(address=address) if connector(address).path:
            return replace(definition, address=replace(address, base=str(base)))
    return definition


def at_its_base(definition: Definition, entry: Entry, home: Path) -> Definition:
    """A definition with relative addresses as its entry has them."""
    if not entry.base:
        return definition
    was = Path(entry.base)
    return anchor(definition, was) if entry.details.get(ANCHORED) else at_base(definition, was, home)


def anchor(definition: Definition, base: Path) -> Definition:
    """The definition with a relative address made absolute."""
    match definition:
        case Stream(source=Address() as source) if connector(source).path:
            return replace(definition, source=Address(source.kind, absolute(base, source.rest)))
        case Table(source=source) if connector(source).path:
            return replace(definition, source=Address(source.kind, absolute(base, source.rest)))
        case Sink(address=address) if connector(address).path:
            return replace(definition, address=Address(address.kind, absolute(base, address.rest)))
    return definition


def _depends_on_base(definition: Definition) -> bool:
    match definition:
        case Stream(source=Address() as address) | Table(source=address) | Sink(address=address):
            return connector(address).path
        case PythonAggregate():
            return True
    return False


def folder_kind(entry: Entry) -> str | None:
    """Which kind of folder an entry has."""
    if entry.space == QUERY:
        return QUERIES
    if entry.kind == "stream":
        return LOGS
    return TABLES if COLUMNS in entry.details else None
