"""SELECTs bound to the catalog: every name and type settled, and what a stream cannot do refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import REJECTED_SCHEMA, DerivedStream, Item, Select, Stream, Table
from millstream.catalog.schema import Schema
from millstream.errors import EslSyntaxError, NameTaken, NotYet, Refused, UnknownName, balanced, suggest
from millstream.language import functions
from millstream.language.bind_windowed import bind_windowed, windows_of
from millstream.language.dialect import EslWindow
from millstream.language.expressions import WINDOW_HINT, bind_expression, bind_predicate
from millstream.language.scope import NOTHING, Scope
from millstream.language.spans import span_of
from millstream.language.statements import Name
from millstream.language.window_clause import function_window

Ctes = Mapping[str, exp.Query]

READ_CLAUSES = {
    "expressions",
    "from_",
    "where",
    "distinct",
    "order",
    "limit",
    "offset",
    "with_",
    "joins",
    "group",
    "having",
}


def bind_query(query: exp.Query, catalog: Catalog, text: str, renamed: tuple[Name, ...] = ()) -> Select:
    """The bound form of a parsed SELECT; `renamed` gives its columns other names."""
    select = _bind(query, catalog, text, {})
    if not renamed:
        return select
    if len(renamed) != len(select.items):
        raise EslSyntaxError(
            f"{len(renamed)} column names for {len(select.items)} columns",
            text,
            (renamed[0].span[0], renamed[-1].span[1]),
            clause="CREATE STREAM",
            hint=f"the SELECT gives {', '.join(i.name for i in select.items)}",
        )
    names = {item.name: new.text for item, new in zip(select.items, renamed, strict=True)}
    items = tuple(Item(names[i.name], i.expression, i.type) for i in select.items)
    time = names[select.time] if select.time else None
    return Select(**{**vars(select), "items": items, "time": time})


def _bind(query: exp.Query, catalog: Catalog, text: str, ctes: Ctes) -> Select:
    if isinstance(query, exp.Subquery) and isinstance(query.this, exp.Query):
        return _bind(query.this, catalog, text, ctes)
    if isinstance(query, exp.SetOperation):
        raise _set_operation(query, catalog, text)
    if not isinstance(query, exp.Select):
        raise EslSyntaxError("expected a SELECT", text, span_of(query), clause="query")
    if with_ := query.args.get("with_"):
        if with_.recursive:
            raise Refused(
                "WITH RECURSIVE has no end on a stream",
                text,
                span_of(with_),
                clause="WITH",
                hint="leave RECURSIVE out if the query does not refer to itself",
            )
        ctes = {**ctes, **{c.alias.lower(): c.this for c in with_.expressions}}
    _check_clauses(query, text)
    scope = _scope(query, catalog, text, ctes)
    if scope.clause is not None or windows_of(query):
        return bind_windowed(query, scope, scope.clause, text)
    where = query.args.get("where")
    items = _items(query, scope, text)
    bound_where = bind_predicate(where.this, scope, text, "WHERE") if where else None
    time = next((i.name for i in items if scope.time and _is_column(i.expression, scope.time)), None)
    return Select(
        source=scope.source,
        items=items,
        where=bound_where,
        bounded=scope.bounded,
        time=time,
        **_bounded_only(query, scope, items, text),  # type: ignore[arg-type]
    )


# -- FROM --------------------------------------------------------------------------------------------------


def _scope(query: exp.Select, catalog: Catalog, text: str, ctes: Ctes) -> Scope:
    from_ = query.args.get("from_")
    if from_ is None:
        return NOTHING
    node = from_.this
    if isinstance(node, exp.Table) and isinstance(node.this, EslWindow) and not query.args.get("joins"):
        name, clause = function_window(node.this, text)
        table = exp.Table(this=exp.to_identifier(name.text), alias=node.args.get("alias"))
        table.this.meta.update(start=name.span[0], end=name.span[1] - 1)
        inner = _named(table, catalog, text, ctes)
        return replace(inner, clause=clause)
    if isinstance(node, EslWindow) or isinstance(getattr(node, "this", None), EslWindow):
        raise _not_yet("a window join", node, text, "FROM")
    if joins := query.args.get("joins"):
        raise _not_yet("a FROM with several inputs", joins[0], text, "FROM", fallback=node)
    if isinstance(node, exp.Subquery):
        return _nested(_bind(node.this, catalog, text, ctes), node.alias or "subquery")
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Func):
        hint = "read a stream or a table; for rows made by a clock use SOURCE 'rate:10'"
        raise EslSyntaxError(
            "functions that make tables are not part of ESL", text, span_of(node), clause="FROM", hint=hint
        )
    if not isinstance(node, exp.Table):
        raise EslSyntaxError("expected a stream, a table or a subquery", text, span_of(node), clause="FROM")
    if joins := node.args.get("joins"):
        raise _not_yet("a FROM with several inputs", joins[0], text, "FROM", fallback=node)
    for extra in ("sample", "pivots", "version", "when", "laterals", "hints"):
        if node.args.get(extra):
            raise _not_esl(extra, node, text)
    return _named(node, catalog, text, ctes)


def _named(node: exp.Table, catalog: Catalog, text: str, ctes: Ctes) -> Scope:
    if not node.db and node.name.lower() in ctes:
        # A CTE sees only those before it, so its own name is taken out while it is bound.
        outer = {k: v for k, v in ctes.items() if k != node.name.lower()}
        return _nested(_bind(ctes[node.name.lower()], catalog, text, outer), node.alias or node.name)
    return _relation_scope(node, catalog, text)


def _nested(select: Select, name: str) -> Scope:
    return Scope(name, select.schema, select.bounded, select.time, source=select)


def _relation_scope(node: exp.Table, catalog: Catalog, text: str) -> Scope:
    span = span_of(node)
    if node.db:
        return _side_output(node, catalog, text)
    relation = catalog.relation(node.name)
    if relation is None:
        hint = suggest(node.name, catalog.relation_names) or "create it first: CREATE STREAM s (...) SOURCE '...'"
        if catalog.sink(node.name):
            hint = f"{node.name} is a sink: rows go into it, and cannot be read from it"
        elif catalog.query(node.name):
            hint = f"{node.name} is a query: to read its rows in other queries, CREATE STREAM {node.name} AS SELECT ..."
        raise UnknownName(f"no stream or table '{node.name}'", text, span, clause="FROM", hint=hint)
    if isinstance(relation, Stream) and relation.source is None:
        raise EslSyntaxError(
            f"stream {relation.name} has no SOURCE",
            text,
            span,
            clause="FROM",
            hint=f"create it with one: CREATE STREAM {relation.name} (...) SOURCE 'csv:data/*.csv'",
        )
    bounded = isinstance(relation, Table)
    time = None if isinstance(relation, Table) else relation.time
    return Scope(node.alias or relation.name, relation.schema, bounded, time, source=relation.name)


def _side_output(node: exp.Table, catalog: Catalog, text: str) -> Scope:
    span = span_of(node)
    relation = catalog.relation(node.db)
    side = node.name.upper()
    if relation is None:
        known = [d.name for d in catalog.all(Stream)]
        raise UnknownName(f"no stream '{node.db}'", text, span, clause="FROM", hint=suggest(node.db, known))
    if side not in {"REJECTED", "LATE"}:
        raise UnknownName(
            f"{relation.name} has no side output '{node.name}'",
            text,
            span,
            clause="FROM",
            hint="side outputs are LATE and REJECTED",
        )
    if not isinstance(relation, Stream) or relation.source is None:
        raise UnknownName(
            f"{relation.name} has no {side}: it is not read from a source",
            text,
            span,
            clause="FROM",
            hint=f"ask the stream it comes from: {_root(relation, catalog)}.{side}",
        )
    if side == "LATE":
        if relation.time is None:
            hint = "declare the stream with ORDER BY its time-stamp column"
            raise Refused(
                f"{relation.name} has no time stamp, so nothing is late", text, span, clause="FROM", hint=hint
            )
        return Scope(node.alias or node.name, relation.schema, False, source=f"{relation.name}.LATE")
    return Scope(node.alias or node.name, REJECTED_SCHEMA, False, source=f"{relation.name}.REJECTED")


def _root(relation: Stream | DerivedStream | Table, catalog: Catalog) -> str:
    while isinstance(relation, DerivedStream):
        below = catalog.relation(relation.select.reads or "")
        if below is None:
            break
        relation = below
    return relation.name


# -- SELECT list -------------------------------------------------------------------------------------------


def _items(query: exp.Select, scope: Scope, text: str) -> tuple[Item, ...]:
    items: list[Item] = []
    aliases: dict[str, exp.Expression] = {}
    for node in query.expressions:
        if star := _star(node):
            items += _expand_star(node, star, scope, text)
            continue
        inner = node.this if isinstance(node, exp.Alias) else node
        if isinstance(node, exp.Aliases):
            raise EslSyntaxError("a column takes one name", text, span_of(node), clause="SELECT")
        bound, type_ = bind_expression(inner, scope, text, "SELECT", aliases)
        _check_generator(bound, items, text, inner)
        name = node.alias if isinstance(node, exp.Alias) else _default_name(inner, text)
        items.append(Item(name, bound, type_))
        aliases[name.lower()] = bound
    _check_names(items, query, text)
    return tuple(items)


def _star(node: exp.Expression) -> exp.Star | None:
    if isinstance(node, exp.Star):
        return node
    return node.this if isinstance(node, exp.Column) and isinstance(node.this, exp.Star) else None


def _expand_star(node: exp.Expression, star: exp.Star, scope: Scope, text: str) -> list[Item]:
    if not scope.name:
        raise EslSyntaxError("* needs a FROM", text, span_of(node), clause="SELECT", hint="add FROM a stream")
    if isinstance(node, exp.Column) and node.table and node.table.lower() != scope.name.lower():
        raise UnknownName(
            f"'{node.table}' is not a stream of this FROM",
            text,
            span_of(node),
            clause="SELECT",
            hint=f"write {scope.name}.*",
        )
    if star.args.get("replace") or star.args.get("rename"):
        raise EslSyntaxError("* takes only EXCEPT (...)", text, span_of(node), clause="SELECT")
    left_out = set()
    for part in star.args.get("except_") or ():
        if scope.schema.find(part.name) is None:
            raise UnknownName(
                f"no column '{part.name}' in {scope.name}",
                text,
                span_of(part),
                clause="EXCEPT",
                hint=suggest(part.name, scope.schema.names),
            )
        left_out.add(part.name.lower())
    return [
        Item(c.name, exp.column(exp.to_identifier(c.name, quoted=True)), c.type)
        for c in scope.schema
        if c.name.lower() not in left_out
    ]


def _default_name(node: exp.Expression, text: str) -> str:
    if isinstance(node, exp.Column | exp.Dot):
        return node.name
    span = span_of(node)
    return node.sql(dialect="spark") if span is None else " ".join(text[slice(*balanced(text, span))].split())


def _check_generator(bound: exp.Expression, before: list[Item], text: str, node: exp.Expression) -> None:
    names = [functions.called(n) for n in bound.walk()]
    if not any(n and functions.kind(n) is functions.Kind.GENERATOR for n in names):
        return
    top = functions.called(bound)
    if top is None or functions.kind(top) is not functions.Kind.GENERATOR:
        raise EslSyntaxError(
            "a function that makes rows must stand alone in its column",
            text,
            span_of(node),
            clause="SELECT",
            hint="make the rows in a subquery in FROM, then compute with them",
        )
    argument = bound.find(exp.Column)
    if top not in {"explode", "explode_outer"} or (argument and argument.type and argument.type.is_type("map")):
        raise EslSyntaxError(
            f"{top} gives several columns here, and a column of the result is one",
            text,
            span_of(node),
            clause="SELECT",
            hint="use explode on an array; map_keys, map_values and map_entries make arrays of a map",
        )
    for item in before:
        other = functions.called(item.expression)
        if other and functions.kind(other) is functions.Kind.GENERATOR:
            raise EslSyntaxError(
                "only one function that makes rows can stand in a SELECT",
                text,
                span_of(node),
                clause="SELECT",
                hint="put the other one into a subquery in FROM",
            )


def _check_names(items: list[Item], query: exp.Select, text: str) -> None:
    seen: set[str] = set()
    for item in items:
        if item.name.lower() in seen:
            raise NameTaken(
                f"two columns of the result are named '{item.name}'",
                text,
                span_of(query.expressions[-1]),
                clause="SELECT",
                hint="give one of them another name with AS",
            )
        seen.add(item.name.lower())


# -- what a stream cannot do -------------------------------------------------------------------------------


def _bounded_only(query: exp.Select, scope: Scope, items: tuple[Item, ...], text: str) -> dict[str, object]:
    """DISTINCT, ORDER BY, LIMIT and OFFSET: for tables only."""
    reasons = {
        "group": ("GROUP BY", "a group is complete only when the stream ends"),
        "having": ("HAVING", "a group is complete only when the stream ends"),
        "distinct": ("DISTINCT", "it would have to remember every row for ever"),
        "order": ("ORDER BY", "the first row can be told only when the stream has ended"),
        "limit": ("LIMIT", "which rows come first depends on arrival, and the stream goes on"),
        "offset": ("OFFSET", "which rows come first depends on arrival, and the stream goes on"),
    }
    for key, (clause, reason) in reasons.items():
        node = query.args.get(key)
        if node is None:
            continue
        where = span_of(node) or span_of(query)
        if not scope.bounded:
            raise Refused(
                f"{clause} on the stream {scope.name} would block for ever: {reason}",
                text,
                where,
                clause=clause,
                hint=WINDOW_HINT if key in {"group", "having", "distinct"} else "leave it out, or use it on a table",
            )
        if key in {"group", "having"}:
            raise _not_yet(f"{clause} on a table", node, text, clause)
    order = query.args.get("order")
    distinct = query.args.get("distinct") is not None
    return {
        "distinct": distinct,
        "order": tuple(_order_term(o, scope, items, distinct, text) for o in (order.expressions if order else ())),
        "limit": _number(query.args.get("limit"), text, "LIMIT"),
        "offset": _number(query.args.get("offset"), text, "OFFSET"),
    }


def _order_term(
    term: exp.Expression, scope: Scope, items: tuple[Item, ...], distinct: bool, text: str
) -> exp.Expression:
    """An ORDER BY term over the columns of the result (by name) or of the input; after DISTINCT, of the result only."""
    key = term.this if isinstance(term, exp.Ordered) else term
    aliases = {i.name.lower(): i.expression for i in items}
    if isinstance(key, exp.Literal) and not key.is_string:
        if not key.name.isdigit() or not 1 <= int(key.name) <= len(items):
            hint = f"name a column, or its place from 1 to {len(items)}"
            raise EslSyntaxError(
                f"the result has no column {key.name}", text, span_of(key), clause="ORDER BY", hint=hint
            )
        key = exp.column(exp.to_identifier(items[int(key.name) - 1].name, quoted=True))
    if distinct:
        scope = Scope("the result", Schema(i.column for i in items), bounded=True)
        aliases = {}
    if isinstance(key, exp.Column) and not key.table and key.name.lower() in aliases:
        bound = aliases[key.name.lower()].copy()
    else:
        bound, _ = bind_expression(key, scope, text, "ORDER BY", aliases)
    if isinstance(term, exp.Ordered):
        return exp.Ordered(this=bound, desc=term.args.get("desc"), nulls_first=term.args.get("nulls_first"))
    return bound


def _number(node: exp.Expression | None, text: str, clause: str) -> int | None:
    if node is None:
        return None
    value = node.expression
    if not isinstance(value, exp.Literal) or value.is_string or not value.name.isdigit():
        raise EslSyntaxError("expected a whole number", text, span_of(node), clause=clause, hint=f"write {clause} 10")
    return int(value.name)


def _check_clauses(query: exp.Select, text: str) -> None:
    for key, value in query.args.items():
        if value and key not in READ_CLAUSES:
            first = value[0] if isinstance(value, list) else value
            if key == "windows":
                raise _not_yet("a WINDOW clause", first, text, "WINDOW")
            raise _not_esl(key, first if isinstance(first, exp.Expr) and span_of(first) else query, text)


def _not_esl(key: str, node: exp.Expr, text: str) -> EslSyntaxError:
    words = {"laterals": "LATERAL VIEW", "sample": "TABLESAMPLE", "pivots": "PIVOT", "locks": "FOR UPDATE"}
    word = words.get(key, key.strip("_").upper())
    hint = "docs/language.md lists what is"
    return EslSyntaxError(f"{word} is not part of ESL", text, span_of(node), clause=word, hint=hint)


def _set_operation(query: exp.SetOperation, catalog: Catalog, text: str) -> Refused | NotYet:
    word = type(query).__name__.upper()
    inputs = [catalog.relation(table.name) for table in query.find_all(exp.Table)]
    if isinstance(query, exp.Except | exp.Intersect) and not all(isinstance(i, Table) for i in inputs):
        return Refused(
            f"{word} would block for ever: a row that is missing now may still come",
            text,
            span_of(query.expression) or span_of(query),
            clause=word,
            hint="streams can be joined within a window, or united with UNION ALL",
        )
    return _not_yet(word, query.expression, text, word)


def _not_yet(what: str, node: exp.Expr, text: str, clause: str, fallback: exp.Expr | None = None) -> NotYet:
    return NotYet(
        f"{what} is part of the language, but this version cannot run it yet",
        text,
        span_of(node) or span_of(fallback),
        clause=clause,
        hint="docs/language.md lists what works",
    )


def _is_column(expression: exp.Expression, name: str) -> bool:
    return isinstance(expression, exp.Column) and expression.name.lower() == name.lower()
