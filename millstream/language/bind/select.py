"""SELECTs bound to the catalog: every name and type settled, and what a stream cannot do refused."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Table
from millstream.catalog.select import AssignWindowsSpec, Select
from millstream.errors import EslSyntaxError, NotYet, Refused
from millstream.expressions.build.bound import tree_of
from millstream.language.bind.assign_windows import assigned_scope, assigns
from millstream.language.bind.bounded import bounded_clauses, refuse_unbounded
from millstream.language.bind.calls.python_calls import python_aggregates, refuse_bare
from millstream.language.bind.calls.user_calls import bare_groups, user_versions
from millstream.language.bind.expressions import bind_expression, bind_predicate
from millstream.language.bind.from_clause import Ctes, From
from millstream.language.bind.history import refuse_history_in_queries
from millstream.language.bind.items import bind_items
from millstream.language.bind.joins import Join
from millstream.language.bind.over import bind_over, overs_of
from millstream.language.bind.progress_columns import progress_columns
from millstream.language.bind.scope import Scope
from millstream.language.bind.union import bind_union
from millstream.language.bind.whole_table import whole_table
from millstream.language.bind.windowed import bind_windowed, windows_of
from millstream.language.bind.with_clause import with_clause
from millstream.language.parse.spans import span_of


def bind_query(query: exp.Query, catalog: Catalog, text: str, template: Join | None = None) -> Select:
    """The bound form of a parsed SELECT; that of a template is joined with its registrations."""
    select = _bind(query, catalog, text, {}, template)
    refuse_history_in_queries(select, query, text)
    return select


def _bind(query: exp.Query, catalog: Catalog, text: str, ctes: Ctes, template: Join | None = None) -> Select:
    ctes = with_clause(query, ctes, text)
    if isinstance(query, exp.Subquery) and isinstance(query.this, exp.Query):
        return _bind(query.this, catalog, text, ctes, template)
    if isinstance(query, exp.SetOperation):
        _refuse_difference(query, catalog, text)
        return bind_union(query, text, lambda part: _bind(part, catalog, text, ctes))
    if not isinstance(query, exp.Select):
        raise EslSyntaxError("expected a SELECT", text, span_of(query), clause="query")
    scope, query = From(catalog, text, ctes, lambda inner, known: _bind(inner, catalog, text, known), template).scope(
        query
    )
    tables = {table.name: table for table in catalog.all(Table)}
    scope = replace(scope, aggregates=user_versions(catalog), python=python_aggregates(catalog), tables=tables)
    if overs_of(query):
        return bind_over(query, scope, text)
    if named := query.args.get("windows"):
        message, hint = "no aggregate uses this window", f"as in max(x) OVER {named[0].this.name}"
        raise EslSyntaxError(message, text, span_of(named[0]), clause="WINDOW", hint=hint)
    if assigns(query, scope):
        inner, assigned = assigned_scope(scope, text)
        return _plain(query, inner, text, assigned)
    if scope.clause is not None or windows_of(query):
        return bind_windowed(query, scope, scope.clause, text)
    if whole := whole_table(query, scope):
        return bind_windowed(query, scope, whole, text)
    refuse_bare(query, scope, text)
    if bare := bare_groups(query, scope, text):
        return bind_over(query, scope, text, bare)
    return _plain(query, scope, text)


def _plain(query: exp.Select, scope: Scope, text: str, assigned: AssignWindowsSpec | None = None) -> Select:
    """A SELECT that computes each of its rows from one row."""
    if emit := query.args.get("emit"):
        hint = "EMIT belongs to an aggregate over a window, as in count(*) [RANGE 1 HOUR, WA ts]"
        message = "there is no window that could answer early"
        raise EslSyntaxError(message, text, span_of(emit), clause="EMIT", hint=hint)
    where = query.args.get("where")
    items, aliases = bind_items(query.expressions, scope, text)
    bound_where = bind_predicate(where.this, scope, text, "WHERE") if where else None
    times = progress_columns(items, scope)
    refuse_unbounded(query, scope, text)
    return Select(
        source=scope.source,
        items=items,
        where=None if bound_where is None else tree_of(bound_where),
        bounded=scope.bounded,
        time=times[0] if times else None,
        other_times=times[1:],
        window_assignment=assigned,
        **bounded_clauses(query, items, text, lambda key: bind_expression(key, scope, text, "ORDER BY", aliases)[0]),  # type: ignore[arg-type]
    )


def _refuse_difference(query: exp.SetOperation, catalog: Catalog, text: str) -> None:
    if isinstance(query, exp.Union):
        return
    word = type(query).__name__.upper()
    inputs = [catalog.relation(table.name) for table in query.find_all(exp.Table)]
    if not all(isinstance(i, Table) for i in inputs):
        raise Refused(
            f"{word} would block for ever: a row that is missing now may still come",
            text,
            span_of(query.expression) or span_of(query),
            clause=word,
            hint="streams can be joined within a window, or united with UNION ALL",
        )
    raise NotYet(
        f"{word} is part of the language, but this version cannot run it yet",
        text,
        span_of(query.expression),
        clause=word,
        hint="docs/language.md lists what works",
    )
