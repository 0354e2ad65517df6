"""Binds statements to the catalog: looks every name up, and says what each asks for."""

from __future__ import annotations

from functools import singledispatch

from millstream.catalog.catalog import Catalog
from millstream.errors import NotYet, Refused
from millstream.language.bind.calls.check_calls import check_calls
from millstream.language.bind.registrations import bind_invocation, bind_registering, bind_unregistering
from millstream.language.bound import Bound, Measure, Replace, Rows, Start
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
from millstream.language.creation import (
    bind_create_aggregate,
    bind_create_python_aggregate,
    bind_create_sink,
    bind_create_stored_table,
    bind_create_stream,
    bind_create_stream_as,
    bind_create_table,
    bind_create_table_as,
    bind_create_view,
)
from millstream.language.parse.checks.tokens import too_deep
from millstream.language.parse.standing.registration_statements import Invoke, Register, Unregister
from millstream.language.parse.statements import Analyze, Statement
from millstream.language.parse.stored.stored_statements import Delete, Subscribe, Update
from millstream.language.questions import (
    bind_analyze_query,
    bind_describe,
    bind_explain,
    bind_explain_aggregate,
    bind_set,
    bind_show,
    bind_show_registrations,
    bind_why_not,
)
from millstream.language.starts import (
    bind_create_query,
    bind_insert_into,
    bind_insert_values,
    bind_select_rows,
    bind_split_into,
)
from millstream.language.stored_rows import bind_delete, bind_subscribe, bind_update


def bind(statement: Statement, catalog: Catalog) -> Bound:
    """What a statement asks for."""
    try:
        bound = _bind(statement, catalog)
    except RecursionError:
        raise too_deep(statement.text, statement.span) from None
    check_calls(bound.new if isinstance(bound, Replace) else bound, statement.text)
    return bound


@singledispatch
def _bind(statement: Statement, catalog: Catalog) -> Bound:
    raise NotImplementedError(type(statement).__name__)


_bind.register(bind_create_stream)
_bind.register(bind_create_stream_as)
_bind.register(bind_create_table)
_bind.register(bind_create_table_as)
_bind.register(bind_create_stored_table)
_bind.register(bind_create_view)
_bind.register(bind_create_sink)
_bind.register(bind_create_aggregate)
_bind.register(bind_create_python_aggregate)
_bind.register(bind_create_query)
_bind.register(bind_insert_into)
_bind.register(bind_insert_values)
_bind.register(bind_split_into)
_bind.register(bind_select_rows)
_bind.register(bind_explain)
_bind.register(bind_why_not)
_bind.register(bind_analyze_query)
_bind.register(bind_explain_aggregate)
_bind.register(bind_show)
_bind.register(bind_describe)
_bind.register(bind_show_registrations)
_bind.register(bind_set)
_bind.register(Update)(bind_update)
_bind.register(Delete)(bind_delete)
_bind.register(Subscribe)(bind_subscribe)


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
def _register(statement: Register, catalog: Catalog) -> Bound:
    return bind_registering(statement, catalog)


@_bind.register
def _unregister(statement: Unregister, catalog: Catalog) -> Bound:
    return bind_unregistering(statement)


@_bind.register
def _invoke(statement: Invoke, catalog: Catalog) -> Bound:
    return bind_invocation(statement)


_bind.register(bind_drop)
_bind.register(bind_stop)
_bind.register(bind_start)
_bind.register(bind_versions)
_bind.register(bind_rename)
_bind.register(bind_alter_query)
_bind.register(bind_alter_window)
_bind.register(bind_alter_stream)
