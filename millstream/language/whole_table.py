"""Aggregates of users over a whole table: a SELECT without a window, whose one window has all rows."""

from __future__ import annotations

from sqlglot import exp

from millstream.language import functions
from millstream.language.scope import Scope
from millstream.language.spans import span_of
from millstream.language.window_clause import WindowClause
from millstream.windows.sliding import WHOLE


def whole_table(query: exp.Select, scope: Scope) -> WindowClause | None:
    """The window of a SELECT over a table that calls aggregates which answer at the end; None if it is no such."""
    parts = [*query.expressions, *filter(None, [query.args.get("having")])]
    called = [node for part in parts for node in part.find_all(exp.Func) if _answers_at_the_end(node, scope)]
    if not scope.bounded or not called:
        return None
    return WindowClause(WHOLE, None, span_of(called[0]) or (0, 0))


def _answers_at_the_end(node: exp.Expression, scope: Scope) -> bool:
    name = functions.called(node)
    base, _ = scope.aggregates.get(name or "", (None, None))
    return name in scope.python or (base is not None and base.blocking)
