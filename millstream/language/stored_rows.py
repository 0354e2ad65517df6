"""Binds statements about rows that are kept: views, and what goes into tables and changes there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from millstream.catalog.address import Address
from millstream.catalog.arrow import carried, to_arrow
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import (
    NEWEST,
    DerivedStream,
    Query,
    Relation,
    Sink,
    StoredTable,
    Stream,
    Table,
    TimeStamp,
    View,
)
from millstream.catalog.schema import Schema, sql_type, type_name
from millstream.catalog.select import Item, Select
from millstream.connectors.registry import connector
from millstream.errors import EslError, EslSyntaxError, Refused, RunError, TypeMismatch, UnknownName, suggest
from millstream.expressions.build.bound import cast_to, column_of, tree_of
from millstream.expressions.tree import BOOL, Case, Literal, Value
from millstream.language.bind.assign import (
    INSERT,
    assigned,
    assigned_rows,
    assigned_select,
    chosen_columns,
    find_column,
    item_spans,
)
from millstream.language.bind.expressions import bind_expression, bind_predicate
from millstream.language.bind.scope import Scope
from millstream.language.bind.select import bind_query
from millstream.language.bound import Bound, Change, Follow, Insertion, OpenView
from millstream.language.parse.spans import span_of
from millstream.language.parse.statements import InsertInto, Name, Span
from millstream.language.parse.stored.stored_statements import CreateView, Delete, InsertValues, Subscribe, Update
from millstream.language.types.coercion import is_unknown
from millstream.store.batch_log import POSITION
from millstream.store.newest import OP
from millstream.store.position import WRITTEN, Position

STORED = Address("stored", "")
"""Where a stored table is, before it has a home."""

_CHANGED = "__changed"


def bind_view(statement: CreateView, catalog: Catalog) -> OpenView:
    """The view and its query; the names are not looked at."""
    text = statement.text
    select = bind_query(statement.select, catalog, text)
    schema = select.schema
    keys = tuple(_key(schema, key, text) for key in statement.keys)
    for item, span in zip(select.items, item_spans(statement.select, len(select.items)), strict=True):
        if item.name.lower() == OP:
            message, hint = f"'{item.name}' is what SUBSCRIBE says of a row of a view", "name the column otherwise"
            raise EslSyntaxError(message, text, statement.name.span, clause="CREATE VIEW", hint=hint)
        if carried(item.type) is None and not item.type.is_type("struct", "map", "binary"):
            raise TypeMismatch(
                f"'{item.name}' is {type_name(item.type)}, which a view cannot keep",
                text,
                span or statement.name.span,
                clause="CREATE VIEW",
                hint=f"give it a type: CAST({item.name} AS STRING) AS {item.name}"
                if not is_unknown(item.type)
                else f"say which it is: CAST(... AS STRING) AS {item.name}",
            )
    timed = select if select.time is not None or select.bounded else _with_time(statement, select, catalog)
    query = Query(statement.name.text, timed, None, statement.own_text, keys=keys)
    return OpenView(View(statement.name.text, schema, STORED, text=statement.own_text, query=query))


def _key(schema: Schema, key: Name, text: str) -> str:
    column = schema.find(key.text)
    if column is None:
        message, hint = f"the SELECT gives no column '{key}'", suggest(key.text, schema.names)
        raise UnknownName(message, text, key.span, clause="KEY", hint=hint)
    if to_arrow(column.type) is None:
        message = f"'{column.name}' is {type_name(column.type)}, which cannot be a key"
        hint = "a key is made of numbers, texts, dates or times; CAST can make one of it"
        raise TypeMismatch(message, text, key.span, clause="KEY", hint=hint)
    return column.name


def _with_time(statement: CreateView, select: Select, catalog: Catalog) -> Select:
    """The SELECT with the time stamp of its rows in one more column, which tells which of them is newer."""
    query = statement.select
    for time in _times(select, catalog) if isinstance(query, exp.Select) else ():
        node = exp.column(exp.to_identifier(time, quoted=True))
        try:
            again = bind_query(query.copy().select(exp.alias_(node, NEWEST, quoted=True)), catalog, statement.text)
        except EslError:
            continue
        if again.time == NEWEST:
            return again
    if _has_time(select, catalog):
        raise Refused(
            "which row of a key is the newest cannot be told: the SELECT gives no time stamp",
            statement.text,
            statement.name.span,
            clause="CREATE VIEW",
            hint="select the time stamp of the rows, or window_end",
        )
    return select  # rows without time stamps: the one that comes last is the newest


def _times(select: Select, catalog: Catalog) -> Iterator[str]:
    if select.window_aggregate is not None:
        yield "window_end"
        yield "window_start"
    below = select.source
    if isinstance(below, Select):
        yield from (below.time,) if below.time else ()
    elif isinstance(below, str):
        time = getattr(catalog.relation(below), "time", None)
        yield from (time,) if time else ()


def _has_time(select: Select, catalog: Catalog) -> bool:
    """Whether any stream at the bottom has time stamps."""
    for name in select.reads:
        relation = catalog.relation(name)
        if isinstance(relation, Stream) and relation.time_stamp is not TimeStamp.LATENT:
            return True
        if isinstance(relation, DerivedStream) and _has_time(relation.select, catalog):
            return True
    return False


# -- tables ------------------------------------------------------------------------------------------------


def bind_insert(statement: InsertInto | InsertValues, catalog: Catalog) -> Insertion | None:
    """Rows for a stored table; None if the name is that of a sink, or of nothing."""
    name = statement.into if isinstance(statement, InsertValues) else statement.sink
    table = catalog.relation(name.text)
    if not isinstance(table, StoredTable) or catalog.sink(name.text) is not None:
        if isinstance(table, StoredTable):
            message = f"{name} is the name of a sink and of a table"
            raise EslSyntaxError(message, statement.text, name.span, clause=INSERT, hint="drop one of them")
        return None
    columns = chosen_columns(table.name, table.schema, statement.columns, statement.text)
    if isinstance(statement, InsertValues):
        rows = assigned_rows(statement.rows, statement.spans, columns, table.schema, statement.text)
        return Insertion(table, None, rows)
    select = bind_query(statement.select, catalog, statement.text)
    if not select.bounded:
        raise Refused(
            f"{table.name} would be filled for ever: {' and '.join(select.reads)} is a stream",
            statement.text,
            name.span,
            clause=INSERT,
            hint="CREATE VIEW v KEY (k) AS SELECT ... keeps the newest rows of a stream; or put them into a sink",
        )
    return Insertion(
        table, assigned_select(select, columns, table.schema, statement.text, name.span, _spans(statement, select))
    )


def bind_feed(statement: InsertInto | InsertValues, catalog: Catalog) -> Insertion | Query | None:
    """Rows for a stream that has no source, or a query that feeds it; None if the name is another's."""
    name = statement.into if isinstance(statement, InsertValues) else statement.sink
    stream = catalog.relation(name.text)
    if not isinstance(stream, Stream) or stream.source is not None:
        return None
    if catalog.sink(name.text) is not None:
        message = f"{name} is the name of a sink and of a stream without a source"
        raise EslSyntaxError(message, statement.text, name.span, clause=INSERT, hint="drop or rename one of them")
    text, schema = statement.text, stream.arriving_schema
    columns = chosen_columns(stream.name, schema, statement.columns, text)
    for column in schema:
        if carried(column.type) is None and not column.type.is_type("struct", "map", "binary"):
            message = f"'{column.name}' is {type_name(column.type)}, which cannot be put into a stream"
            hint = "declare it as a STRING, and CAST it where it is read"
            raise TypeMismatch(message, text, name.span, clause=INSERT, hint=hint)
    if isinstance(statement, InsertValues):
        return Insertion(stream, None, assigned_rows(statement.rows, statement.spans, columns, schema, text))
    select = bind_query(statement.select, catalog, text)
    bound = assigned_select(select, columns, schema, text, name.span, _spans(statement, select))
    if select.bounded:
        return Insertion(stream, bound)
    if stream.name.lower() in _sources(select, catalog):
        message = f"{stream.name} would feed itself: what comes out of it would go into it again, without end"
        hint = "put the rows into another stream"
        raise Refused(message, text, name.span, clause=INSERT, hint=hint)
    return Query(stream.name, bound, None, statement.own_text, into=stream.name)


def _spans(statement: InsertInto, select: Select) -> Sequence[Span | None]:
    return item_spans(statement.select, len(select.items))


def _sources(select: Select, catalog: Catalog) -> set[str]:
    """All streams that a SELECT reads, also by way of derived streams and of queries that feed what it reads."""
    found: set[str] = set()
    ahead = [name.lower() for name in select.reads]
    while ahead:
        name = ahead.pop()
        if name in found:
            continue
        found.add(name)
        relation = catalog.relation(name)
        below = [relation.select] if isinstance(relation, DerivedStream) else []
        below += [relation.query.select] if isinstance(relation, View) else []
        below += [query.select for query in catalog.all(Query) if (query.into or "").lower() == name]
        ahead += [read.lower() for one in below for read in one.reads]
    return found


def refuse_insert(statement: InsertValues | InsertInto, catalog: Catalog) -> EslError | None:
    """Why nothing can be put where a statement says; None if it is the name of a sink, or of nothing."""
    name = statement.into if isinstance(statement, InsertValues) else statement.sink
    text, relation, sink = statement.text, catalog.relation(name.text), catalog.sink(name.text)
    if sink is not None:
        if isinstance(statement, InsertValues):
            hint = "feed a sink with INSERT INTO sink SELECT ... FROM stream"
            return Refused(f"{name} is a sink, and VALUES is no stream", text, name.span, clause=INSERT, hint=hint)
        if statement.columns:
            span = (statement.columns[0].span[0], statement.columns[-1].span[1])
            hint = "name them in the SELECT: SELECT a AS x"
            return EslSyntaxError("a sink takes its columns from the SELECT", text, span, clause=INSERT, hint=hint)
        return None
    if relation is None:
        if isinstance(statement, InsertValues):
            known = [t.name for t in catalog.all(StoredTable)]
            known += [s.name for s in catalog.all(Stream) if s.source is None]
            hint = suggest(name.text, known) or f"create it first: CREATE TABLE {name} (...)"
            return UnknownName(f"no table '{name}'", text, name.span, clause=INSERT, hint=hint)
        return None
    return _not_stored(relation, name, text, INSERT)


def bind_update(statement: Update, catalog: Catalog) -> Change:
    """The rows of a table with new values in some of them."""
    text = statement.text
    table, scope = _changing(statement.table, catalog, text, "UPDATE")
    condition = _condition(statement.where, scope, text)
    values: dict[str, Value] = {}
    for name, node in statement.assignments:
        column = find_column(table.name, table.schema, name, text, "SET")
        if column.name in values:
            raise EslSyntaxError(f"'{name}' is set twice", text, name.span, clause="SET", hint="set it once")
        bound, type_ = bind_expression(node, scope, text, "SET")
        values[column.name] = assigned(tree_of(bound), type_, column, text, span_of(node) or name.span, "SET")
    items = []
    for column in table.schema:
        old = column_of(column.name, column.type)
        new = values.get(column.name)
        chosen = old if new is None else Case(((condition, new),), old, old.type)
        items.append(Item(column.name, chosen, column.type))
    items.append(Item(_CHANGED, condition, sql_type("boolean")))
    return Change(table, Select(table.name, tuple(items), None, bounded=True), _CHANGED, "updated")


def bind_delete(statement: Delete, catalog: Catalog) -> Change:
    """The rows of a table, each with whether it goes."""
    table, scope = _changing(statement.table, catalog, statement.text, "DELETE")
    condition = _condition(statement.where, scope, statement.text)
    items = [Item(c.name, column_of(c.name, c.type), c.type) for c in table.schema]
    items.append(Item(_CHANGED, condition, sql_type("boolean")))
    return Change(table, Select(table.name, tuple(items), None, bounded=True), _CHANGED, "deleted")


def _condition(where: exp.Expression | None, scope: Scope, text: str) -> Value:
    """The condition, which is not true where it is NULL."""
    if where is None:
        return _TRUE
    condition = cast_to(tree_of(bind_predicate(where, scope, text, "WHERE")), sql_type("boolean"))
    return Case(((condition, _TRUE),), Literal(False, BOOL), BOOL)


_TRUE = Literal(True, BOOL)


def _changing(name: Name, catalog: Catalog, text: str, clause: str) -> tuple[StoredTable, Scope]:
    found = catalog.relation(name.text)
    if found is None:
        hint = suggest(name.text, [t.name for t in catalog.all(StoredTable)]) or "SHOW TABLES lists those that are"
        raise UnknownName(f"no table '{name}'", text, name.span, clause=clause, hint=hint)
    if not isinstance(found, StoredTable):
        raise _not_stored(found, name, text, clause)
    return found, Scope(found.name, found.schema, bounded=True, source=found.name)


def _not_stored(relation: Relation, name: Name, text: str, clause: str) -> EslError:
    match relation:
        case View():
            message, hint = f"{name} is a view: its rows are answers of its query", "change what the query reads"
        case Table():
            message = f"{name} is read from {relation.source}, and nothing here may change that"
            hint = f"CREATE TABLE {name}_2 AS SELECT * FROM {name} keeps a copy that can be changed"  # noqa: S608
        case _ if clause == INSERT:
            message = f"{name} is not a sink, and its rows come from elsewhere"
            hint = f"create a sink: CREATE SINK {name}_out TO 'csv:out'"
        case _:
            message, hint = f"{name} is a stream: what has come does not change", "keep rows in a table or a view"
    return Refused(message, text, name.span, clause=clause, hint=hint)


# -- subscriptions -----------------------------------------------------------------------------------------


def bind_subscribe(statement: Subscribe, catalog: Catalog) -> Bound:
    """The query to follow, and from where."""
    name, text = statement.name, statement.text
    query = catalog.query(name.text)
    if query is None:
        known = [q.name for q in catalog.all(Query)]
        hint = suggest(name.text, known) or "create one: CREATE QUERY hot AS SELECT ..."
        if isinstance(catalog.relation(name.text), Stream | DerivedStream | Table):
            hint = f"only answers of queries come one after the other; SELECT * FROM {name} reads it"  # noqa: S608
        raise UnknownName(f"no query or view '{name}'", text, name.span, clause="SUBSCRIBE", hint=hint)
    if query.into is not None or (query.sinks and not _keeps(query, catalog)):
        hint = f"read what it feeds, or use CREATE QUERY {query.name}_rows AS SELECT ..."
        message = f"query {query.name} feeds {' and '.join(query.sinks) or query.into} and keeps no rows"
        raise Refused(message, text, name.span, clause="SUBSCRIBE", hint=hint)
    if clash := [i.name for i in query.select.items if i.name.lower() == POSITION]:
        message, hint = f"'{clash[0]}' is what SUBSCRIBE calls the place of a row", "name the column otherwise"
        raise EslSyntaxError(message, text, name.span, clause="SUBSCRIBE", hint=hint)
    after = statement.after
    if after is not None and not _is_position(after.text):
        raise EslSyntaxError(f"'{after}' is not a position", text, after.span, clause="SUBSCRIBE", hint=WRITTEN)
    return Follow(query, after.text if after is not None else None)


def _keeps(query: Query, catalog: Catalog) -> bool:
    sinks: Sequence[Sink | None] = [catalog.sink(name) for name in query.sinks]
    return all(sink is not None and connector(sink.address).kept for sink in sinks)


def _is_position(text: str) -> bool:
    try:
        Position.parse(text)
    except RunError:
        return False
    return True
