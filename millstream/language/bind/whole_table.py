"""Aggregates over a whole table: a SELECT without a window, whose one window has all rows."""

from __future__ import annotations

from sqlglot import exp

from millstream.language.bind.calls.calls import written_call
from millstream.language.bind.scope import Scope
from millstream.language.clauses.window_clause import WindowClause
from millstream.language.parse.spans import span_of
from millstream.windows.whole import WHOLE


def whole_table(query: exp.Select, scope: Scope) -> WindowClause | None:
    """The window of a SELECT over a table that groups or aggregates its rows; None if it does neither."""
    parts = [*query.expressions, *filter(None, [query.args.get("having"), query.args.get("order")])]
    called = [node for part in parts for node in part.walk() if written_call(node, scope)]
    grouped = query.args.get("group")
    if not scope.bounded or not (called or grouped):
        return None
    return WindowClause(WHOLE, None, span_of(called[0] if called else grouped) or (0, 0))
