"""Names of definitions in statements: found, free or taken, and what they are called when one of them is not."""

from __future__ import annotations

from millstream.catalog.catalog import AGGREGATE, QUERY, RELATION, SINK, WINDOW_AGGREGATE, Broken, Catalog, Key, key_of
from millstream.catalog.definitions import (
    Definition,
    DerivedStream,
    PythonAggregate,
    Query,
    Sink,
    Stream,
    Table,
    UserAggregate,
    View,
)
from millstream.catalog.select import SIDES
from millstream.errors import NameTaken, NotYet, UnknownName, suggest
from millstream.language.parse.statements import Name, Statement

_SPACES = {
    "STREAM": RELATION,
    "TABLE": RELATION,
    "VIEW": RELATION,
    "SINK": SINK,
    "QUERY": QUERY,
    "AGGREGATE": AGGREGATE,
    "WINDOW AGGREGATE": WINDOW_AGGREGATE,
}


def kind_of(definition: Definition) -> str:
    """The word for a definition's kind."""
    names = {Stream: "stream", DerivedStream: "stream", Sink: "sink", Query: "query"}
    if isinstance(definition, UserAggregate | PythonAggregate):
        return "window aggregate" if definition.window else "aggregate"
    if isinstance(definition, Table):
        return "view" if isinstance(definition, View) else "table"
    return names[type(definition)]


def keys_of(kind: str, name: str) -> tuple[Key, ...]:
    """The keys under which a statement that says `kind name` looks; AGGREGATE also means a window aggregate."""
    spaces = (AGGREGATE, WINDOW_AGGREGATE) if kind == "AGGREGATE" else (_SPACES[kind],)
    return tuple((space, name.lower()) for space in spaces)


def find(kind: str, name: str, catalog: Catalog) -> Definition | None:
    """The definition of a kind that has a name."""
    for key in keys_of(kind, name):
        found = catalog.at(key)
        if found is not None and (key[0] != RELATION or kind_of(found) == kind.lower()):
            return found
    return None


def find_broken(kind: str, name: str, catalog: Catalog) -> Key | None:
    """The key of a broken definition of a kind that has a name."""
    for key in keys_of(kind, name):
        if (broken := catalog.broken.get(key)) is not None and broken.kind == kind.lower():
            return key
    return None


def get(kind: str, name: Name, catalog: Catalog, text: str, clause: str) -> Definition:
    """The definition of a kind that has a name, or an error that says what there is."""
    found = find(kind, name.text, catalog)
    if found is not None:
        return found
    if (key := find_broken(kind, name.text, catalog)) is not None:
        raise broken_name(catalog.broken[key], name, text, clause)
    known = [d.name for d in catalog if kind_of(d) == kind.lower()]
    hint = suggest(name.text, known) or f"SHOW {plural(kind)} lists those that there are"
    raise UnknownName(f"no {kind.lower()} '{name}'", text, name.span, clause=clause, hint=hint)


def plural(kind: str) -> str:
    """What SHOW calls the definitions of a kind.

    >>> plural("QUERY"), plural("WINDOW AGGREGATE")
    ('QUERIES', 'AGGREGATES')
    """
    word = kind.rsplit(maxsplit=1)[-1]
    return f"{word[:-1]}IES" if word.endswith("Y") else f"{word}S"


def broken_name(broken: Broken, name: Name, text: str, clause: str) -> UnknownName:
    """The error of a statement that needs what is broken."""
    return UnknownName(
        f"{broken.kind} {broken.name} is broken: {_first_line(broken.reason)}",
        text,
        name.span,
        clause=clause,
        hint=f"mend what it needs, and start the mill again; or CREATE OR REPLACE {broken.kind.upper()} "
        f"{broken.name}; or drop it",
    )


def check_free(definition: Definition, name: Name, catalog: Catalog, text: str, clause: str = "CREATE") -> None:
    """Refuse a name that something else has."""
    taken = catalog.find(definition)
    if taken is not None and not (isinstance(taken, Query) and not catalog.holds(taken)):
        raise taken_name(taken, name, text, clause)
    if (broken := catalog.broken.get(key_of(definition))) is not None:
        raise NameTaken(
            f"there is already a {broken.kind} '{broken.name}', which is broken: {_first_line(broken.reason)}",
            text,
            name.span,
            clause=clause,
            hint=f"choose another name, or CREATE OR REPLACE {broken.kind.upper()} {broken.name}",
        )


def taken_name(taken: Definition, name: Name, text: str, clause: str = "CREATE") -> NameTaken:
    """The error of a statement that gives a name away which something has."""
    kind = kind_of(taken)
    hint = f"choose another name, or DROP {kind.upper()} {taken.name} first"
    return NameTaken(
        f"there is already {'an' if kind == 'aggregate' else 'a'} {kind} '{taken.name}'",
        text,
        name.span,
        clause=clause,
        hint=hint,
    )


def check_replaceable(query: Query, name: Name, text: str, clause: str = "CREATE OR REPLACE") -> None:
    """Refuse a change of a query whose rows are those of something else."""
    if query.keys or query.into is not None:
        what = f"is that of view {query.name}" if query.keys else f"feeds stream {query.into}"
        raise NotYet(
            f"query {query.name} {what}, and cannot be altered yet",
            text,
            name.span,
            clause=clause,
            hint=f"DROP {'VIEW' if query.keys else 'QUERY'} {query.name}, and write the statement anew",
        )


def check_side(statement: Statement, name: Name, clause: str = "CREATE") -> None:
    """Refuse a name that a side output has."""
    stream, dot, side = name.text.rpartition(".")
    if dot and side.upper() in SIDES:
        raise NameTaken(
            f"'{name}' is the name of a side output: it would be that of a stream named {stream or 's'}",
            statement.text,
            name.span,
            clause=clause,
            hint=f"choose a name that does not end in .{side}",
        )


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else ""
