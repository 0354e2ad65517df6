"""CREATE AGGREGATE checked and turned into a definition: every statement of its parts bound and typed."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import PythonAggregate, UserAggregate
from millstream.catalog.schema import Column, Schema, type_name
from millstream.errors import EslSyntaxError, NotYet, Refused, TypeMismatch, UnknownName, suggest
from millstream.expressions.tree import NULL, Literal, Value
from millstream.language.parse.spans import span_of
from millstream.language.parse.statements import Name, Span
from millstream.udas import body as b
from millstream.udas.bind.aggregations import fit
from millstream.udas.bind.checks import check_head, check_parts, warnings
from millstream.udas.bind.expressions import Expressions
from millstream.udas.bind.names import check_names
from millstream.udas.bind.queries import bind_query
from millstream.udas.bind.scope import Aggregate, QueryInput, Scope, Typed, fields_of
from millstream.udas.bind.types import run_type
from millstream.udas.generated.compiled import compile_aggregate
from millstream.udas.statements import (
    BodyDelete,
    BodyInsert,
    BodyStatement,
    BodyUpdate,
    CreateAggregate,
    CreatePythonAggregate,
    DeclaredTable,
)


def bind_python_aggregate(statement: CreatePythonAggregate) -> PythonAggregate:
    """The definition of an aggregate that is a class of Python; the class is looked for when it is used."""
    check_head(statement)
    module, _, name = statement.place.text.partition(":")
    if not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise EslSyntaxError(
            f"'{statement.place}' names no class",
            statement.text,
            statement.place.span,
            clause="LANGUAGE PYTHON",
            hint="write it as 'package.module:Class'",
        )
    return PythonAggregate(
        name=statement.name.text,
        parameters=statement.parameters,
        result=statement.result,
        place=statement.place.text,
        window=statement.window,
        algebraic=statement.algebraic,
        text=statement.own_text,
    )


def bind_aggregate(statement: CreateAggregate, catalog: Catalog) -> tuple[UserAggregate, tuple[str, ...]]:
    """The aggregate that a CREATE AGGREGATE defines, and what its author should know about it."""
    try:
        definition, told = _bound(statement, catalog)
        compile_aggregate(definition.body)  # what cannot be compiled is told here, and not when it is first used
    except (RecursionError, SyntaxError, MemoryError):
        raise NotYet(
            "an expression in the body is nested too deeply",
            statement.text,
            statement.name.span,
            clause="CREATE AGGREGATE",
            hint="put a part of it into a statement of its own",
        ) from None
    return definition, told


def _bound(statement: CreateAggregate, catalog: Catalog) -> tuple[UserAggregate, tuple[str, ...]]:
    check_head(statement)
    parts = check_parts(statement)
    binder = _Binder(statement, catalog)
    tables = tuple(binder.table(t) for t in statement.tables)
    shared = parts["INITIALIZE"] is parts["ITERATE"]
    bound = {w: binder.statements(p.statements) for w, p in parts.items() if not (shared and w == "INITIALIZE")}
    if statement.window and b.INWINDOW not in {t.name for t in tables}:
        tables = (*tables, b.LocalTable(b.INWINDOW, fields_of(binder.aggregate.tables[b.INWINDOW])))
    body = b.Body(
        name=statement.name.text,
        parameters=fields_of(statement.parameters),
        result=fields_of(statement.result),
        tables=tables,
        initialize=bound["ITERATE"] if shared else bound["INITIALIZE"],
        iterate=bound["ITERATE"],
        terminate=bound.get("TERMINATE", ()),
        expire=bound.get("EXPIRE", ()),
        window=statement.window,
        algebraic=statement.algebraic,
        shared=shared,
        reads=tuple(binder.aggregate.reads.values()),
    )
    definition = UserAggregate(
        name=statement.name.text,
        parameters=statement.parameters,
        result=statement.result,
        body=body,
        window=statement.window,
        algebraic=statement.algebraic,
        text=statement.own_text,
    )
    return definition, warnings(statement, body, binder.aggregate.used, binder.aggregate.hidden)


class _Binder:
    """Binds the tables and statements of one aggregate."""

    def __init__(self, statement: CreateAggregate, catalog: Catalog) -> None:
        self.statement = statement
        self.text = statement.text
        self.aggregate = Aggregate(
            statement.name.text, statement.parameters, statement.result, statement.window, catalog, statement.text
        )
        if statement.window:
            self.aggregate.tables[b.INWINDOW] = statement.parameters
        self.scope = Scope(self.aggregate)
        self.values = Expressions(bind_query)
        self._declared: set[str] = set()

    # -- tables --------------------------------------------------------------------------------------------

    def table(self, declared: DeclaredTable) -> b.LocalTable:
        """A local table, with its first rows."""
        name = declared.name.text.lower()
        if name in self._declared or name == "return":
            why = "RETURN stands for the result" if name == "return" else f"there already is a table '{name}'"
            raise EslSyntaxError(why, self.text, declared.name.span, clause="TABLE", hint="choose another name")
        self._declared.add(name)
        if name == b.INWINDOW:
            self._inwindow(declared)
        self._check_types(declared)
        self.aggregate.tables[name] = declared.schema
        rows = tuple(self._first_row(row, declared) for row in declared.rows)
        return b.LocalTable(name, fields_of(declared.schema), rows)

    def _inwindow(self, declared: DeclaredTable) -> None:
        span, parameters = declared.name.span, self.statement.parameters
        if not self.statement.window:
            hint = "write CREATE WINDOW AGGREGATE, or choose another name"
            raise Refused("only window aggregates have inwindow", self.text, span, clause="TABLE", hint=hint)
        if declared.rows:
            message, hint = "inwindow begins empty: the system fills it", "leave AS VALUES out"
            raise Refused(message, self.text, span, clause="TABLE", hint=hint)
        given, wanted = ([type_name(c.type) for c in schema] for schema in (declared.schema, parameters))
        if given != wanted:
            raise TypeMismatch(
                f"inwindow has the columns ({', '.join(given)}), and the parameters are ({', '.join(wanted)})",
                self.text,
                span,
                clause="TABLE",
                hint="its columns are the parameters in order, under any names",
            )

    def _check_types(self, declared: DeclaredTable) -> None:
        for column in declared.schema:
            if run_type(column.type) is None:
                raise NotYet(
                    f"a local table cannot hold '{column.name}' {type_name(column.type)} yet",
                    self.text,
                    declared.name.span,
                    clause="TABLE",
                    hint="numbers, texts, truths, dates and times work",
                )

    def _first_row(self, row: tuple[exp.Expression, ...], declared: DeclaredTable) -> tuple[Literal, ...]:
        self._check_count(len(row), declared.schema, declared.name.text, span_of(row[0]) or declared.name.span, "TABLE")
        values = []
        for node, column in zip(row, declared.schema, strict=True):
            value = self._fitted(
                self.values.bind(node, self.scope, "VALUES"), column, node, declared.name.text, "VALUES"
            )
            if not isinstance(value, Literal):
                message, hint = "the first rows of a table are constants", "INSERT the row in INITIALIZE"
                raise EslSyntaxError(message, self.text, span_of(node), clause="VALUES", hint=hint)
            values.append(value)
        return tuple(values)

    # -- statements ----------------------------------------------------------------------------------------

    def statements(self, statements: Sequence[BodyStatement]) -> tuple[b.Action, ...]:
        """The statements of a part."""
        bound: list[b.Action] = []
        for statement in statements:
            match statement:
                case BodyInsert():
                    bound.append(self._insert(statement))
                case BodyUpdate():
                    bound.append(self._update(statement))
                case BodyDelete():
                    bound.append(self._delete(statement))
            check_names(self.aggregate)
        return tuple(bound)

    def _insert(self, statement: BodyInsert) -> b.Action:
        name = statement.table.text.lower()
        clause = "INSERT"
        if name == "return":
            target, schema, title = None, self.statement.result, "the result"
        else:
            target, schema = self._local(statement.table, clause)
            title = target
        if target == b.INWINDOW:
            raise Refused(
                "nothing can be inserted into inwindow: the system puts each tuple there",
                self.text,
                statement.table.span,
                clause=clause,
                hint="keep other rows in a table of your own",
            )
        places = self._places(statement.columns, schema, title, clause)
        if statement.select is not None:
            return self._insert_query(statement, target, schema, places, title, clause)
        where = self.values.condition(statement.where, self.scope, "WHERE") if statement.where is not None else None
        rows = []
        for row in statement.rows:
            self._check_count(len(row), [schema[p] for p in places], title, _row_span(row) or statement.span, clause)
            fitted = {
                p: self._fitted(self.values.bind(node, self.scope, clause), schema[p], node, title, clause)
                for p, node in zip(places, row, strict=True)
            }
            rows.append(_filled(fitted, schema))
        return b.InsertRows(target, tuple(rows), where)

    def _insert_query(
        self, statement: BodyInsert, target: str | None, schema: Schema, places: list[int], title: str, clause: str
    ) -> b.InsertQuery:
        assert statement.select is not None  # noqa: S101  (asked for by the caller)
        query, columns = bind_query(statement.select, self.scope, clause)
        self._check_count(len(columns), [schema[p] for p in places], title, span_of(statement.select), clause)
        written: exp.Expr = statement.select
        fitted = {
            p: self._fitted((item, type_), schema[p], written, title, clause)
            for p, item, (_, type_) in zip(places, query.items, columns, strict=True)
        }
        return b.InsertQuery(target, b.TableQuery(**{**vars(query), "items": _filled(fitted, schema)}))

    def _update(self, statement: BodyUpdate) -> b.Update:
        name, schema = self._local(statement.table, "UPDATE")
        source, scope = self._over(name, statement.table, schema)
        places = self._places(statement.columns, schema, name, "SET")
        values = tuple(
            self._fitted(self.values.bind(node, scope, "SET"), schema[p], node, name, "SET")
            for p, node in zip(places, statement.values, strict=True)
        )
        where = self.values.condition(statement.where, scope, "WHERE") if statement.where is not None else None
        return b.Update(name, source, tuple(places), values, where)

    def _delete(self, statement: BodyDelete) -> b.Delete:
        name, schema = self._local(statement.table, "DELETE")
        source, scope = self._over(name, statement.table, schema)
        where = self.values.condition(statement.where, scope, "WHERE") if statement.where is not None else None
        return b.Delete(name, source, where)

    # -- small helpers -------------------------------------------------------------------------------------

    def _over(self, name: str, written: Name, schema: Schema) -> tuple[b.Source, Scope]:
        number = self.aggregate.next_number()
        scope = self.scope.inside((QueryInput(written.text, number, schema),))
        return b.Source(number, name, name, len(schema)), scope

    def _local(self, table: Name, clause: str) -> tuple[str, Schema]:
        name = table.text.lower()
        if name in self.aggregate.tables:
            return name, self.aggregate.tables[name]
        if self.aggregate.catalog.relation(name) is not None:
            message, hint = f"{table} is not a local table: bodies only read it", "change a table of the aggregate"
            raise Refused(message, self.text, table.span, clause=clause, hint=hint)
        if name == "return":
            message, hint = "RETURN can only be inserted into", "INSERT INTO RETURN VALUES (...)"
            raise Refused(message, self.text, table.span, clause=clause, hint=hint)
        raise UnknownName(
            f"no table '{table}' in this aggregate",
            self.text,
            table.span,
            clause=clause,
            hint=self.aggregate.table_hint(table.text),
        )

    def _places(self, columns: tuple[Name, ...], schema: Schema, table: str, clause: str) -> list[int]:
        if not columns:
            return list(range(len(schema)))
        names = [c.name.lower() for c in schema]
        places: list[int] = []
        for column in columns:
            if column.text.lower() not in names:
                raise UnknownName(
                    f"no column '{column}' in {table}",
                    self.text,
                    column.span,
                    clause=clause,
                    hint=suggest(column.text, schema.names),
                )
            place = names.index(column.text.lower())
            if place in places:
                message, hint = f"'{column}' is given twice", "keep one of them"
                raise EslSyntaxError(message, self.text, column.span, clause=clause, hint=hint)
            places.append(place)
        return places

    def _check_count(self, given: int, wanted: Sequence[Column], title: str, span: Span | None, clause: str) -> None:
        if given != len(wanted):
            raise TypeMismatch(
                f"{title} has {len(wanted)} column{'' if len(wanted) == 1 else 's'}, and {given} "
                f"{'is' if given == 1 else 'are'} given",
                self.text,
                span or self.statement.name.span,
                clause=clause,
                hint=f"give ({', '.join(map(str, wanted))})",
            )

    def _fitted(self, typed: Typed, column: Column, node: exp.Expr, title: str, clause: str) -> Value:
        value, type_ = typed
        what = title if title == "the result" and len(self.statement.result) == 1 else f"{column.name} of {title}"
        return fit(value, type_, column.type, what, node, self.scope, clause)


def _filled(values: dict[int, Value], schema: Schema) -> tuple[Value, ...]:
    """A whole row: NULL in the columns that were not named."""
    return tuple(values.get(p, Literal(None, run_type(c.type) or NULL)) for p, c in enumerate(schema))


def _row_span(row: Sequence[exp.Expression]) -> Span | None:
    spans = [s for s in map(span_of, row) if s is not None]
    return (min(s[0] for s in spans), max(s[1] for s in spans)) if spans else None
