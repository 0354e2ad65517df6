"""Binds statements to the catalog: looks every name up, and says what each asks for."""

from __future__ import annotations

from functools import partial, singledispatch

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import (
    REJECTED_SCHEMA,
    SIDES,
    Definition,
    DerivedStream,
    PythonAggregate,
    Query,
    Relation,
    Select,
    Sink,
    Stream,
    Table,
    UserAggregate,
)
from millstream.catalog.schema import Schema
from millstream.catalog.settings import SETTINGS
from millstream.errors import EslSyntaxError, NameTaken, Refused, UnknownName, suggest
from millstream.language.bind.check_calls import check_calls
from millstream.language.bind.definitions import bind_sink, bind_stream, bind_table
from millstream.language.bind.from_clause import SHARED
from millstream.language.bind.select import bind_query
from millstream.language.bind.split import bind_split
from millstream.language.bound import (
    Account,
    Assignment,
    Bound,
    Define,
    Description,
    GeneratedCode,
    Listing,
    Measure,
    Plan,
    Reasons,
    Removal,
    Rows,
    Start,
    Store,
)
from millstream.language.parse.statements import (
    Analyze,
    AnalyzeQuery,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateTableAs,
    Describe,
    Drop,
    Explain,
    InsertInto,
    Name,
    SelectRows,
    SetValue,
    Show,
    SplitInto,
    Statement,
    WhyNot,
)
from millstream.udas.bind.aggregate import bind_aggregate
from millstream.udas.bind.python_class import bind_python_class, load_class
from millstream.udas.statements import CreateAggregate, CreatePythonAggregate, ExplainAggregate


def bind(statement: Statement, catalog: Catalog) -> Bound:
    """What a statement asks for."""
    bound = _bind(statement, catalog)
    check_calls(bound, statement.text)
    return bound


@singledispatch
def _bind(statement: Statement, catalog: Catalog) -> Bound:
    raise NotImplementedError(type(statement).__name__)


@_bind.register
def _create_stream(statement: CreateStream, catalog: Catalog) -> Bound:
    return _define(bind_stream(statement), statement, statement.name, catalog, statement.if_not_exists)


@_bind.register
def _create_stream_as(statement: CreateStreamAs, catalog: Catalog) -> Bound:
    select = bind_query(statement.select, catalog, statement.text, statement.renamed)
    if select.bounded:
        raise Refused(
            f"{statement.name} would be made from tables only: there is no stream in it",
            statement.text,
            statement.name.span,
            clause="CREATE STREAM",
            hint=f"use CREATE TABLE {statement.name} AS SELECT ...",
        )
    derived = DerivedStream(statement.name.text, select, statement.own_text)
    return _define(derived, statement, statement.name, catalog, statement.if_not_exists)


@_bind.register
def _create_table(statement: CreateTable, catalog: Catalog) -> Bound:
    return _define(bind_table(statement), statement, statement.name, catalog, statement.if_not_exists)


@_bind.register
def _create_table_as(statement: CreateTableAs, catalog: Catalog) -> Bound:
    select = bind_query(statement.select, catalog, statement.text)
    if not select.bounded:
        raise Refused(
            f"{statement.name} would never be complete: {' and '.join(select.reads)} is a stream",
            statement.text,
            statement.name.span,
            clause="CREATE TABLE",
            hint=f"use CREATE STREAM {statement.name} AS SELECT ..., or put the rows into a sink",
        )
    _check_side(statement, statement.name)
    taken = catalog.relation(statement.name.text)
    if taken and not statement.if_not_exists:
        raise _taken(taken, statement, statement.name)
    return Store(statement.name.text, select, known=taken is not None)


@_bind.register
def _create_sink(statement: CreateSink, catalog: Catalog) -> Bound:
    return _define(bind_sink(statement), statement, statement.name, catalog, statement.if_not_exists)


@_bind.register
def _create_query(statement: CreateQuery, catalog: Catalog) -> Bound:
    select = bind_query(statement.select, catalog, statement.text)
    if (taken := catalog.query(statement.name.text)) and catalog.holds(taken):
        raise _taken(taken, statement, statement.name)
    _check_unbounded(select, statement, statement.name, "CREATE QUERY")
    return Start(Query(statement.name.text, select, None, statement.own_text))


@_bind.register
def _insert_into(statement: InsertInto, catalog: Catalog) -> Bound:
    select = bind_query(statement.select, catalog, statement.text)
    sink = _sink(statement.sink, statement, catalog)
    _check_unbounded(select, statement, statement.sink, "INSERT INTO")
    return Start(Query(_free_query_name(sink.name, catalog), select, sink.name, statement.own_text))


@_bind.register
def _split_into(statement: SplitInto, catalog: Catalog) -> Bound:
    for _, query in statement.outputs:
        query.meta[SHARED] = True
    outputs = [
        (name, _sink(name, statement, catalog), bind_query(select, catalog, statement.text))
        for name, select in statement.outputs
    ]
    (first, sink, select), *_ = outputs
    _check_unbounded(select, statement, first, "INSERT INTO")
    split = bind_split(outputs, statement.text)
    return Start(Query(_free_query_name(sink.name, catalog), select, sink.name, statement.own_text, split))


def _sink(name: Name, statement: Statement, catalog: Catalog) -> Sink:
    sink = catalog.sink(name.text)
    if sink is None:
        known = [s.name for s in catalog.all(Sink)]
        hint = suggest(name.text, known)
        if catalog.relation(name.text):
            hint = f"{name} is not a sink; create one: CREATE SINK {name}_out TO 'csv:out'"
        elif not hint.startswith("did you"):
            hint = f"create it first: CREATE SINK {name} TO 'csv:out/{name}'"
        raise UnknownName(f"no sink '{name}'", statement.text, name.span, clause="INSERT INTO", hint=hint)
    return sink


@_bind.register
def _select(statement: SelectRows, catalog: Catalog) -> Bound:
    return Rows(bind_query(statement.select, catalog, statement.text), statement.own_text)


@_bind.register
def _explain(statement: Explain, catalog: Catalog) -> Bound:
    if statement.select is not None:
        return Plan(bind_query(statement.select, catalog, statement.text))
    name = statement.name or Name("", statement.span)
    found = catalog.query(name.text) or catalog.relation(name.text)
    if isinstance(found, Query | DerivedStream):
        return Plan(found if isinstance(found, Query) else found.select)
    known = [q.name for q in catalog.all(Query)] + [d.name for d in catalog.all(DerivedStream)]
    raise UnknownName(
        f"no query or derived stream '{name}'",
        statement.text,
        name.span,
        clause="EXPLAIN",
        hint=suggest(name.text, known) or "write EXPLAIN SELECT ...",
    )


@_bind.register
def _why_not(statement: WhyNot, catalog: Catalog) -> Bound:
    return Reasons(_running(statement.name, catalog, statement.text, "EXPLAIN WHY NOT"))


@_bind.register
def _analyze_query(statement: AnalyzeQuery, catalog: Catalog) -> Bound:
    return Account(_running(statement.name, catalog, statement.text, "EXPLAIN ANALYZE"))


def _running(name: Name, catalog: Catalog, text: str, clause: str) -> Query:
    found = catalog.query(name.text)
    if found is None:
        known = [q.name for q in catalog.all(Query)]
        hint = suggest(name.text, known) or "SHOW QUERIES lists those that do"
        raise UnknownName(f"no query '{name}' runs", text, name.span, clause=clause, hint=hint)
    return found


@_bind.register
def _analyze(statement: Analyze, catalog: Catalog) -> Bound:
    match _bind(statement.asked, catalog):
        case Rows(select=select):
            return Measure(select)
        case Start(query=query):
            return Measure(query)
    raise NotImplementedError(type(statement.asked).__name__)


@_bind.register
def _create_aggregate(statement: CreateAggregate, catalog: Catalog) -> Bound:
    definition, warnings = bind_aggregate(statement, catalog)
    define = _define(definition, statement, statement.name, catalog, statement.if_not_exists)
    return Define(definition, define.known, warnings)


@_bind.register
def _create_python_aggregate(statement: CreatePythonAggregate, catalog: Catalog) -> Bound:
    definition = bind_python_class(statement)
    define = _define(definition, statement, statement.name, catalog, statement.if_not_exists)
    return Define(definition, define.known, load=partial(load_class, definition, statement))


@_bind.register
def _explain_aggregate(statement: ExplainAggregate, catalog: Catalog) -> Bound:
    versions = (catalog.aggregate(statement.name.text, window=window) for window in (False, True))
    found = tuple(v for v in versions if v is not None)
    if not found:
        known = [d.name for d in catalog if isinstance(d, UserAggregate | PythonAggregate)]
        raise UnknownName(
            f"no aggregate '{statement.name}'",
            statement.text,
            statement.name.span,
            clause="EXPLAIN AGGREGATE",
            hint=suggest(statement.name.text, known) or "create it first: CREATE AGGREGATE ...",
        )
    return GeneratedCode(found)


@_bind.register
def _show(statement: Show, catalog: Catalog) -> Bound:
    return Listing(statement.what)


@_bind.register
def _describe(statement: Describe, catalog: Catalog) -> Bound:
    name, side = statement.name.text, ""
    found = _named(name, catalog)
    if found is None:
        name, _, side = name.rpartition(".")
        found = _named(name, catalog)
    if found is not None and not side:
        schema = found.select.schema if isinstance(found, Query) else getattr(found, "schema", Schema())
        schema = found.parameters if isinstance(found, UserAggregate | PythonAggregate) else schema
        return Description(found.name, found, schema)
    if isinstance(found, Stream) and side.upper() == "REJECTED":
        return Description(f"{found.name}.REJECTED", found, REJECTED_SCHEMA)
    if isinstance(found, Stream) and side.upper() == "LATE":
        return Description(f"{found.name}.LATE", found, found.schema)
    known = [d.name for d in catalog]
    raise UnknownName(
        f"nothing is named '{statement.name}'",
        statement.text,
        statement.name.span,
        clause="DESCRIBE",
        hint=suggest(statement.name.text, known),
    )


def _named(name: str, catalog: Catalog) -> Definition | None:
    """Whatever has a name, relations first."""
    found = catalog.relation(name) or catalog.query(name) or catalog.sink(name) or catalog.aggregate(name)
    return found or catalog.aggregate(name, window=True)


@_bind.register
def _drop(statement: Drop, catalog: Catalog) -> Bound:
    name = statement.name.text
    found: Definition | None
    match statement.kind:
        case "QUERY":
            found = catalog.query(name)
        case "SINK":
            found = catalog.sink(name)
        case "AGGREGATE":
            found = catalog.aggregate(name) or catalog.aggregate(name, window=True)
        case "WINDOW AGGREGATE":
            found = catalog.aggregate(name, window=True)
        case _:
            wanted: tuple[type[Relation], ...] = (Table,) if statement.kind == "TABLE" else (Stream, DerivedStream)
            relation = catalog.relation(name)
            found = relation if isinstance(relation, wanted) else None
    if found is None and not statement.if_exists:
        raise UnknownName(
            f"no {statement.kind.lower()} '{name}'",
            statement.text,
            statement.name.span,
            clause=f"DROP {statement.kind}",
            hint=suggest(name, [d.name for d in catalog]),
        )
    if found is not None and (users := catalog.users(found)):
        raise NameTaken(
            f"{found.name} is still used by {', '.join(users)}",
            statement.text,
            statement.name.span,
            clause=f"DROP {statement.kind}",
            hint=f"drop {users[0]} first",
        )
    return Removal(statement.kind, name, found)


@_bind.register
def _set(statement: SetValue, catalog: Catalog) -> Bound:
    name = statement.name.text.lower()
    if name not in SETTINGS:
        raise UnknownName(
            f"no setting '{statement.name}'",
            statement.text,
            statement.name.span,
            clause="SET",
            hint=suggest(name, SETTINGS),
        )
    try:
        SETTINGS[name].read(statement.value)
    except ValueError as problem:
        raise EslSyntaxError(
            f"{name} must be {problem}",
            statement.text,
            statement.value_span,
            clause="SET",
            hint=f"{name}: {SETTINGS[name].what}",
        ) from None
    return Assignment(name, statement.value)


def _check_unbounded(select: Select, statement: Statement, name: Name, clause: str) -> None:
    if select.bounded:
        raise Refused(
            f"{name} would read {' and '.join(select.reads) or 'nothing'}, which is no stream: it has nothing to wait "
            "for",
            statement.text,
            name.span,
            clause=clause,
            hint="a persistent query reads a stream; for the rows of a table use SELECT or CREATE TABLE ... AS",
        )


def _define(definition: Definition, statement: Statement, name: Name, catalog: Catalog, if_not_exists: bool) -> Define:
    if isinstance(definition, Stream | DerivedStream | Table):
        _check_side(statement, name)
    taken = catalog.find(definition)
    if taken is not None and not if_not_exists:
        raise _taken(taken, statement, name)
    return Define(definition, known=taken is not None)


def _check_side(statement: Statement, name: Name) -> None:
    """Refuse a name that a side output has."""
    stream, dot, side = name.text.rpartition(".")
    if dot and side.upper() in SIDES:
        raise NameTaken(
            f"'{name}' is the name of a side output: it would be that of a stream named {stream or 's'}",
            statement.text,
            name.span,
            clause="CREATE",
            hint=f"choose a name that does not end in .{side}",
        )


def _taken(taken: Definition, statement: Statement, name: Name) -> NameTaken:
    kind = {Stream: "stream", DerivedStream: "stream", Table: "table", Sink: "sink", Query: "query"}.get(
        type(taken), "window aggregate" if getattr(taken, "window", False) else "aggregate"
    )
    return NameTaken(
        f"there is already {'an' if kind == 'aggregate' else 'a'} {kind} '{taken.name}'",
        statement.text,
        name.span,
        clause="CREATE",
        hint=f"choose another name, or DROP {kind.upper()} {taken.name} first",
    )


def _free_query_name(sink: str, catalog: Catalog) -> str:
    """A query that feeds a sink is named after it: alerts, alerts_2, ..."""
    name, number = sink, 1
    while catalog.query(name):
        number += 1
        name = f"{sink}_{number}"
    return name
