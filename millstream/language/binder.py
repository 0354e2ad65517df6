"""Binds statements to the catalog: looks every name up, and says what each asks for."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, singledispatch

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import (
    REJECTED_SCHEMA,
    Definition,
    DerivedStream,
    PythonAggregate,
    Query,
    Select,
    Sink,
    StoredTable,
    Stream,
    Table,
    UserAggregate,
    View,
)
from millstream.catalog.moment import Moment
from millstream.catalog.schema import Schema
from millstream.catalog.settings import SETTINGS
from millstream.errors import EslSyntaxError, NotYet, Refused, UnknownName, suggest
from millstream.language.bind.calls.check_calls import check_calls
from millstream.language.bind.definitions import bind_sink, bind_stream, bind_table
from millstream.language.bind.from_clause import SHARED
from millstream.language.bind.history import check_start
from millstream.language.bind.registrations import (
    bind_invocation,
    bind_registering,
    bind_unregistering,
    template_named,
)
from millstream.language.bind.rename_columns import rename_columns
from millstream.language.bind.select import bind_query
from millstream.language.bind.split import bind_split
from millstream.language.bind.templates import answer_by_registration, check_same_parameters, registrations
from millstream.language.bound import (
    Account,
    Assignment,
    Bound,
    Define,
    Description,
    GeneratedCode,
    Insertion,
    Listing,
    Measure,
    Plan,
    Reasons,
    RegistrationListing,
    Replace,
    Rows,
    Start,
    Store,
)
from millstream.language.changes import (
    bind_alter_query,
    bind_alter_stream,
    bind_alter_window,
    bind_drop,
    bind_rename,
    bind_start,
    bind_stop,
    bind_versions,
)
from millstream.language.names import check_free, check_side, kind_of, taken_name
from millstream.language.parse.standing.registration_statements import Invoke, Register, ShowRegistrations, Unregister
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
from millstream.language.parse.stored.stored_statements import (
    CreateStoredTable,
    CreateView,
    Delete,
    InsertValues,
    Subscribe,
    Update,
)
from millstream.language.stored_rows import (
    STORED,
    bind_delete,
    bind_feed,
    bind_insert,
    bind_subscribe,
    bind_update,
    bind_view,
    refuse_insert,
)
from millstream.udas.bind.aggregate import bind_aggregate
from millstream.udas.bind.python_class import bind_python_class, load_class
from millstream.udas.statements import CreateAggregate, CreatePythonAggregate, ExplainAggregate

_Create = (
    CreateStream
    | CreateStreamAs
    | CreateTable
    | CreateTableAs
    | CreateStoredTable
    | CreateSink
    | CreateAggregate
    | CreatePythonAggregate
)
"""The statements that give a name to something."""


def bind(statement: Statement, catalog: Catalog) -> Bound:
    """What a statement asks for."""
    bound = _bind(statement, catalog)
    check_calls(bound.new if isinstance(bound, Replace) else bound, statement.text)
    return bound


@singledispatch
def _bind(statement: Statement, catalog: Catalog) -> Bound:
    raise NotImplementedError(type(statement).__name__)


@_bind.register
def _create_stream(statement: CreateStream, catalog: Catalog) -> Bound:
    return _define(bind_stream(statement), statement, catalog)


@_bind.register
def _create_stream_as(statement: CreateStreamAs, catalog: Catalog) -> Bound:
    select = rename_columns(bind_query(statement.select, catalog, statement.text), statement, "CREATE STREAM")
    if select.bounded:
        raise Refused(
            f"{statement.name} would be made from tables only: there is no stream in it",
            statement.text,
            statement.name.span,
            clause="CREATE STREAM",
            hint=f"use CREATE TABLE {statement.name} AS SELECT ...",
        )
    if statement.keep is not None:
        raise NotYet(
            "the history of a derived stream cannot be kept yet",
            statement.text,
            statement.name.span,
            clause="KEEP",
            hint="keep the streams that it reads, and let queries over it START AT where they should",
        )
    derived = DerivedStream(statement.name.text, select, statement.own_text)
    return _define(derived, statement, catalog)


@_bind.register
def _create_table(statement: CreateTable, catalog: Catalog) -> Bound:
    return _define(bind_table(statement), statement, catalog)


@_bind.register
def _create_table_as(statement: CreateTableAs, catalog: Catalog) -> Bound:
    select = rename_columns(bind_query(statement.select, catalog, statement.text), statement, "CREATE TABLE")
    if not select.bounded:
        raise Refused(
            f"{statement.name} would never be complete: {' and '.join(select.reads)} is a stream",
            statement.text,
            statement.name.span,
            clause="CREATE TABLE",
            hint=f"use CREATE STREAM {statement.name} AS SELECT ..., or put the rows into a sink",
        )
    made = StoredTable(statement.name.text, select.schema, STORED, text=statement.own_text)
    bound = _define(made, statement, catalog)
    replaced = bound.old if isinstance(bound, Replace) else None
    known = isinstance(bound, Define) and bound.known
    return Store(statement.name.text, select, known, statement.own_text, replaced)


@_bind.register
def _create_stored_table(statement: CreateStoredTable, catalog: Catalog) -> Bound:
    table = StoredTable(statement.name.text, statement.schema, STORED, text=statement.own_text)
    return _define(table, statement, catalog)


@_bind.register
def _create_view(statement: CreateView, catalog: Catalog) -> Bound:
    bound = bind_view(statement, catalog)
    view, text = bound.view, statement.text
    _check_unbounded(view.query.select, statement, statement.name, "CREATE VIEW")
    check_side(statement, statement.name)
    start = _start_of(statement, view.query.select, catalog)
    bound = replace(bound, view=replace(view, query=replace(view.query, start=start)))
    if statement.if_not_exists and isinstance(catalog.relation(view.name), View):
        return replace(bound, known=True)
    check_free(view, statement.name, catalog, text)
    check_free(view.query, statement.name, catalog, text)
    return bound


@_bind.register
def _create_sink(statement: CreateSink, catalog: Catalog) -> Bound:
    return _define(bind_sink(statement), statement, catalog)


@_bind.register
def _create_query(statement: CreateQuery, catalog: Catalog) -> Bound:
    template = None if statement.parameters is None else registrations(statement)
    select = bind_query(statement.select, catalog, statement.text, template)
    if template is not None:
        select = answer_by_registration(select, statement)
    query = Query(statement.name.text, select, None, statement.own_text, parameters=statement.parameters)
    taken = catalog.query(statement.name.text)
    if not statement.or_replace:
        check_free(query, statement.name, catalog, statement.text)
    _check_unbounded(select, statement, statement.name, "CREATE QUERY")
    query = replace(query, start=_start_of(statement, select, catalog))
    if taken is None or not catalog.holds(taken):
        return Start(query)
    check_same_parameters(taken, statement)
    return Replace(taken, query)


@_bind.register
def _insert_into(statement: InsertInto, catalog: Catalog) -> Bound:
    match bind_insert(statement, catalog) or bind_feed(statement, catalog):
        case Query() as query:
            start = _start_of(statement, query.select, catalog)
            return Start(replace(query, name=_free_query_name(query.name, catalog), start=start))
        case Insertion(select=Select() as select) as insertion:
            _start_of(statement, select, catalog)  # which is refused: they have an end
            return insertion
    if (refusal := refuse_insert(statement, catalog)) is not None:
        raise refusal
    select = bind_query(statement.select, catalog, statement.text)
    sink = _sink(statement.sink, statement, catalog)
    _check_unbounded(select, statement, statement.sink, "INSERT INTO")
    start = _start_of(statement, select, catalog)
    return Start(Query(_free_query_name(sink.name, catalog), select, sink.name, statement.own_text, start=start))


@_bind.register
def _insert_values(statement: InsertValues, catalog: Catalog) -> Bound:
    if (insertion := bind_insert(statement, catalog)) is not None:
        return insertion
    if isinstance(fed := bind_feed(statement, catalog), Insertion):
        return fed
    raise refuse_insert(statement, catalog) or NotImplementedError(statement.into.text)


_bind.register(Update)(bind_update)
_bind.register(Delete)(bind_delete)
_bind.register(Subscribe)(bind_subscribe)


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
    start = _start_of(statement, select, catalog)
    name = _free_query_name(sink.name, catalog)
    return Start(Query(name, select, sink.name, statement.own_text, split, start))


def _start_of(
    statement: CreateQuery | CreateView | InsertInto | SplitInto | SelectRows, select: Select, catalog: Catalog
) -> Moment | None:
    """Where a query begins in the histories that it reads, if it says so."""
    if statement.start is None:
        return None
    check_start(statement.start.moment, select, catalog, statement.text, statement.start.span)
    return statement.start.moment


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
    select = bind_query(statement.select, catalog, statement.text)
    return Rows(select, statement.own_text, _start_of(statement, select, catalog))


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
    bound = _bind(statement.asked, catalog)
    start = bound.start if isinstance(bound, Rows) else bound.query.start if isinstance(bound, Start) else None
    if start is not None:
        message = "what is analyzed reads all that is kept: it cannot begin elsewhere yet"
        hint = "leave START AT out; or analyze a SELECT over FROM s SINCE ..."
        raise NotYet(message, statement.text, statement.span, clause="START AT", hint=hint)
    match bound:
        case Rows(select=select):
            return Measure(select)
        case Start(query=query):
            return Measure(query)
    raise Refused(
        "EXPLAIN ANALYZE runs a statement, and this one would change a table",
        statement.text,
        statement.asked.span,
        clause="EXPLAIN ANALYZE",
        hint="EXPLAIN ANALYZE SELECT ... runs the SELECT alone",
    )


@_bind.register
def _create_aggregate(statement: CreateAggregate, catalog: Catalog) -> Bound:
    definition, warnings = bind_aggregate(statement, catalog)
    return replace(_define(definition, statement, catalog), warnings=warnings)


@_bind.register
def _create_python_aggregate(statement: CreatePythonAggregate, catalog: Catalog) -> Bound:
    definition = bind_python_class(statement)
    return replace(_define(definition, statement, catalog), load=partial(load_class, definition, statement))


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
def _register(statement: Register, catalog: Catalog) -> Bound:
    return bind_registering(statement, catalog)


@_bind.register
def _unregister(statement: Unregister, catalog: Catalog) -> Bound:
    return bind_unregistering(statement)


@_bind.register
def _invoke(statement: Invoke, catalog: Catalog) -> Bound:
    return bind_invocation(statement)


@_bind.register
def _show_registrations(statement: ShowRegistrations, catalog: Catalog) -> Bound:
    name = statement.template
    return RegistrationListing(None if name is None else template_named(name, catalog, statement.text, "SHOW").name)


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


_bind.register(bind_drop)
_bind.register(bind_stop)
_bind.register(bind_start)
_bind.register(bind_versions)
_bind.register(bind_rename)
_bind.register(bind_alter_query)
_bind.register(bind_alter_window)
_bind.register(bind_alter_stream)


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


def _define(definition: Definition, statement: _Create, catalog: Catalog) -> Define | Replace:
    if isinstance(definition, Stream | DerivedStream | Table):
        check_side(statement, statement.name)
    taken = catalog.find(definition)
    if statement.or_replace and taken is not None:
        if kind_of(taken) != kind_of(definition):
            raise taken_name(taken, statement.name, statement.text)
        return Replace(taken, definition)
    if not statement.or_replace and not statement.if_not_exists:
        check_free(definition, statement.name, catalog, statement.text)
    return Define(definition, known=taken is not None)


def _free_query_name(sink: str, catalog: Catalog) -> str:
    """A query that feeds a sink is named after it: alerts, alerts_2, ..."""
    name, number = sink, 1
    while catalog.query(name):
        number += 1
        name = f"{sink}_{number}"
    return name
