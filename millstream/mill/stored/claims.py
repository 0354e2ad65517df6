"""Claims: a script that made what a mill has resumed may say it all again, each statement once."""

from __future__ import annotations

from pathlib import Path

from millstream.catalog.catalog import AGGREGATE, QUERY, RELATION, SINK, WINDOW_AGGREGATE, Catalog, Key
from millstream.catalog.definitions import Query, View
from millstream.language.bound import Bound, Define, OpenView, Start
from millstream.language.parse.rewrite import same_statement
from millstream.language.parse.statements import (
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateTableAs,
    InsertInto,
    SplitInto,
    Statement,
)
from millstream.language.parse.stored.stored_statements import CreateStoredTable, CreateView
from millstream.mill.stored.catalog_store import Entry
from millstream.mill.stored.definitions import Definitions
from millstream.udas.statements import CreateAggregate, CreatePythonAggregate


class Claims:
    """What was resumed and no statement of this process has spoken of yet; it is used up statement by statement."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._left = set(definitions.unclaimed)

    def find_same(self, statement: Statement, base: Path) -> Bound | None:
        """What a statement asks for if it says what is there already; None if it must be bound."""
        for key in self._keys(statement):
            if key not in self._left:
                continue
            definition = self._definitions.catalog.at(key)
            entry = self._definitions.store.find(key)
            if definition is not None and entry is not None and _says(statement, entry, base):
                self._left.discard(key)
                if isinstance(definition, View):
                    return OpenView(definition, known=True)
                return Start(definition, True) if isinstance(definition, Query) else Define(definition, known=True)
        return None

    def without_broken(self, statement: Statement, base: Path, catalog: Catalog) -> Catalog:
        """The catalog in which a statement is bound: one that says again what is broken takes its place."""
        for key in self._keys(statement):
            entry = self._definitions.store.find(key) if key in catalog.broken else None
            if entry is not None and _says(statement, entry, base):
                catalog = catalog.copy()
                catalog.remove_broken(key)
                if entry.kind == "view" and (query := (QUERY, key[1])) in catalog.broken:
                    catalog.remove_broken(query)
        return catalog

    def _keys(self, statement: Statement) -> list[Key]:
        """The keys that a statement may speak of; a query that feeds a sink has no name in its text."""
        match statement:
            case CreateView():  # its query is known with it
                return [(RELATION, statement.name.text.lower())]
            case CreateStream() | CreateStreamAs() | CreateTable() | CreateTableAs() | CreateStoredTable():
                return [(RELATION, statement.name.text.lower())]
            case CreateSink():
                return [(SINK, statement.name.text.lower())]
            case CreateQuery():
                return [(QUERY, statement.name.text.lower())]
            case CreateAggregate() | CreatePythonAggregate():
                return [(WINDOW_AGGREGATE if statement.window else AGGREGATE, statement.name.text.lower())]
            case InsertInto() | SplitInto():
                return [entry.key for entry in self._definitions.store.entries() if entry.space == QUERY]
        return []


def _says(statement: Statement, entry: Entry, base: Path) -> bool:
    return entry.base in {"", str(base)} and same_statement(entry.text, statement.own_text)
