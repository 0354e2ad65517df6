"""Binds stored definitions again, from their texts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from millstream.catalog.address import Address
from millstream.catalog.catalog import AGGREGATE, QUERY, RELATION, WINDOW_AGGREGATE, Catalog, Key, key_of
from millstream.catalog.definitions import Definition, StoredTable
from millstream.catalog.schema import Column, Schema, sql_type
from millstream.errors import RunError
from millstream.language.binder import bind
from millstream.language.bound import Bound, Define, OpenView, Replace, Start
from millstream.language.parse.standing.registration_statements import Register
from millstream.language.parse.statements import CreateSink, CreateStream, CreateTable, Statement
from millstream.language.parse.stored.stored_statements import CreateStoredTable, CreateView
from millstream.language.parser import parse
from millstream.language.rename import called_names
from millstream.language.stored_rows import STORED
from millstream.mill.home.home import Home
from millstream.mill.stored.catalog_store import Entry
from millstream.mill.stored.definitions import COLUMNS, at_its_base
from millstream.udas.statements import CreateAggregate, CreatePythonAggregate


@dataclass(frozen=True)
class BoundEntry:
    """A definition that was bound again, what it uses, and how its class is imported if it has one."""

    definition: Definition
    uses: Collection[Key]
    load: Callable[[], tuple[str, ...]] | None = None


def bind_again(entry: Entry, catalog: Catalog, base: Path, home: Home) -> BoundEntry:
    """The definition that an entry is in a catalog, which need not be without it. Relative addresses start from `base`.

    What does not bind any more raises the error of the binder.
    """
    if COLUMNS in entry.details:
        return BoundEntry(_stored_table(entry, home), ())
    statements = parse(entry.text)
    if len(statements) != 1:
        raise RunError(f"the stored text of {entry.kind} {entry.name} is damaged")
    without = catalog.copy()
    name = entry.key[1]
    both = [(RELATION, name), (QUERY, name)]
    for key in both if isinstance(statements[0], CreateView) else [entry.key]:
        if (old := without.at(key)) is not None:
            without.remove(old)
        if key in without.broken:
            without.remove_broken(key)
    bound, uses = bind_noting(statements[0], without)
    match bound:
        case Define(definition=found, load=load):
            pass
        case Start(query=found):
            load = None
        case OpenView(view=view):
            found, load = view if entry.space == RELATION else view.query, None
        case Replace():  # there was nothing to replace
            raise AssertionError
        case _:
            raise RunError(f"the stored text of {entry.kind} {entry.name} defines nothing")
    found = replace(found, name=entry.name)  # a query that feeds a sink may have been given any name
    found = at_its_base(found, entry, base)
    return BoundEntry(found, uses - {key_of(found)}, load)


def bind_noting(statement: Statement, catalog: Catalog) -> tuple[Bound, frozenset[Key]]:
    """What a statement asks for, and the keys of what it uses."""
    uses: set[Key] = set()
    bound = bind(statement, catalog.record_lookups(uses))
    of_values = isinstance(statement, Register) and statement.select is None  # by the thousand
    if not (of_values or isinstance(statement, CreateStream | CreateTable | CreateStoredTable | CreateSink)):
        # The binder takes all aggregates from the catalog at once.
        names = called_names(statement.own_text)
        called = {(space, name) for space in (AGGREGATE, WINDOW_AGGREGATE) for name in names}
        uses |= {key for key in called if catalog.at(key) is not None}
    if isinstance(statement, CreateAggregate | CreatePythonAggregate):  # its own name stands before a bracket
        uses -= {(space, statement.name.text.lower()) for space in (AGGREGATE, WINDOW_AGGREGATE)}
    return bound, frozenset(uses)


def _stored_table(entry: Entry, home: Home) -> StoredTable:
    columns = (Column(name, sql_type(type_), nullable) for name, type_, nullable in entry.details[COLUMNS])
    place = Address(STORED.kind, str(home.table_folder(entry.name)))
    return StoredTable(entry.name, Schema(columns), place, text=entry.text)
