"""Binds what starts a query: CREATE QUERY, INSERT INTO, SELECT; and where it begins in histories."""

from __future__ import annotations

from dataclasses import replace

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Query, Sink
from millstream.catalog.moment import Moment
from millstream.catalog.select import Select
from millstream.errors import Refused, UnknownName, suggest
from millstream.language.bind.from_clause import SHARED
from millstream.language.bind.history import check_start
from millstream.language.bind.select import bind_query
from millstream.language.bind.split import bind_split
from millstream.language.bind.templates import answer_by_registration, check_same_parameters, registrations
from millstream.language.bound import Bound, Insertion, Replace, Rows, Start
from millstream.language.names import check_free, check_replaceable
from millstream.language.parse.statements import CreateQuery, InsertInto, Name, SelectRows, SplitInto, Statement
from millstream.language.parse.stored.stored_statements import CreateView, InsertValues
from millstream.language.stored_rows import bind_feed, bind_insert, refuse_insert


def bind_create_query(statement: CreateQuery, catalog: Catalog) -> Bound:
    """CREATE QUERY, with parameters a template."""
    template = None if statement.parameters is None else registrations(statement)
    select = bind_query(statement.select, catalog, statement.text, template)
    if template is not None:
        select = answer_by_registration(select, statement)
    query = Query(statement.name.text, select, None, statement.own_text, parameters=statement.parameters)
    taken = catalog.query(statement.name.text)
    if not statement.or_replace:
        check_free(query, statement.name, catalog, statement.text)
    check_unbounded(select, statement, statement.name, "CREATE QUERY")
    query = replace(query, start=start_of(statement, select, catalog))
    if taken is None or not catalog.holds(taken):
        return Start(query)
    check_replaceable(taken, statement.name, statement.text)
    check_same_parameters(taken, statement)
    return Replace(taken, query)


def bind_insert_into(statement: InsertInto, catalog: Catalog) -> Bound:
    """INSERT INTO ... SELECT: rows for a table or a stream, or a query that feeds a sink."""
    match bind_insert(statement, catalog) or bind_feed(statement, catalog):
        case Query() as query:
            start = start_of(statement, query.select, catalog)
            return Start(replace(query, name=_free_query_name(query.name, catalog), start=start))
        case Insertion(select=Select() as select) as insertion:
            start_of(statement, select, catalog)  # which is refused: they have an end
            return insertion
    if (refusal := refuse_insert(statement, catalog)) is not None:
        raise refusal
    select = bind_query(statement.select, catalog, statement.text)
    sink = _sink(statement.sink, statement, catalog)
    check_unbounded(select, statement, statement.sink, "INSERT INTO")
    start = start_of(statement, select, catalog)
    return Start(Query(_free_query_name(sink.name, catalog), select, sink.name, statement.own_text, start=start))


def bind_insert_values(statement: InsertValues, catalog: Catalog) -> Bound:
    """INSERT INTO ... VALUES."""
    if (insertion := bind_insert(statement, catalog)) is not None:
        return insertion
    if isinstance(fed := bind_feed(statement, catalog), Insertion):
        return fed
    raise refuse_insert(statement, catalog) or NotImplementedError(statement.into.text)


def bind_split_into(statement: SplitInto, catalog: Catalog) -> Bound:
    """FROM ... INSERT INTO: one query that feeds several sinks."""
    for _, query in statement.outputs:
        query.meta[SHARED] = True
    outputs = [
        (name, _sink(name, statement, catalog), bind_query(select, catalog, statement.text))
        for name, select in statement.outputs
    ]
    (first, sink, select), *_ = outputs
    check_unbounded(select, statement, first, "INSERT INTO")
    split = bind_split(outputs, statement.text)
    start = start_of(statement, select, catalog)
    name = _free_query_name(sink.name, catalog)
    return Start(Query(name, select, sink.name, statement.own_text, split, start))


def start_of(
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


def bind_select_rows(statement: SelectRows, catalog: Catalog) -> Bound:
    """A SELECT without a name."""
    select = bind_query(statement.select, catalog, statement.text)
    return Rows(select, statement.own_text, start_of(statement, select, catalog))


def check_unbounded(select: Select, statement: Statement, name: Name, clause: str) -> None:
    """Refuse a persistent query that reads no stream."""
    if select.bounded:
        raise Refused(
            f"{name} would read {' and '.join(select.reads) or 'nothing'}, which is no stream: it has nothing to wait "
            "for",
            statement.text,
            name.span,
            clause=clause,
            hint="a persistent query reads a stream; for the rows of a table use SELECT or CREATE TABLE ... AS",
        )


def _free_query_name(sink: str, catalog: Catalog) -> str:
    """A query that feeds a sink is named after it: alerts, alerts_2, ..."""
    name, number = sink, 1
    while catalog.query(name):
        number += 1
        name = f"{sink}_{number}"
    return name
