"""Windows without aggregates: `SELECT * FROM TUMBLE(...)` gives each tuple with the bounds of its windows."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millstream.catalog.schema import Column, Schema, sql_type
from millstream.catalog.select import AssignWindowsSpec
from millstream.errors import NameTaken, NotYet, Refused
from millstream.language.bind.calls.calls import written_call
from millstream.language.bind.scope import Scope
from millstream.language.bind.window_time import window_time
from millstream.language.bind.windowed import BOUNDS, windows_of


def assigns(query: exp.Select, scope: Scope) -> bool:
    """Whether a SELECT over a table function only wants to know the windows of its tuples."""
    endless = () if scope.bounded else ("distinct",)
    grouped = any(query.args.get(key) for key in ("group", "having", *endless))
    calls = (n for item in query.expressions for n in item.walk() if written_call(n, scope))
    return scope.clause is not None and not grouped and not windows_of(query) and next(calls, None) is None


def assigned_scope(scope: Scope, text: str) -> tuple[Scope, AssignWindowsSpec]:
    """The scope with window_start and window_end, and what fills them."""
    clause = scope.clause
    assert clause is not None  # noqa: S101  (`assigns` says so)
    paned = clause.window.paned
    if paned is None or paned.endless:
        raise NotYet(
            f"{clause.window.noun} without aggregates is part of the language, but this version cannot run it yet",
            text,
            clause.span,
            clause="SELECT",
            hint="aggregate its tuples, as in count(*) or array_agg(x)",
        )
    time = window_time(clause.time, scope, text, clause.span, "DESCRIPTOR(ts)")
    if time is None:
        raise Refused(
            f"{scope.name} has no time stamp, and only an aggregate stamps tuples on arrival",
            text,
            clause.span,
            clause="window",
            hint="declare the stream with ORDER BY current_time, or aggregate its tuples",
        )
    for name in BOUNDS:
        if scope.schema.find(name):
            hint = "give it another name in a subquery"
            raise NameTaken(f"{scope.name} already has a column '{name}'", text, clause.span, clause="FROM", hint=hint)
    stamps = (Column(name, sql_type("timestamp")) for name in BOUNDS)
    schema = Schema([*scope.schema, *stamps])
    return replace(scope, schema=schema, clause=None), AssignWindowsSpec(paned, time)
