"""The column that a window moves along."""

from __future__ import annotations

from millstream.catalog.definitions import INTERNAL_COLUMN
from millstream.catalog.schema import type_name
from millstream.errors import EslSyntaxError, Refused, TypeMismatch, UnknownName, suggest
from millstream.language.bind.scope import Scope
from millstream.language.parse.statements import Name, Span


def window_time(named: Name | None, scope: Scope, text: str, span: Span, example: str = "WA ts") -> str | None:
    """The time-stamp column of a window, None where tuples are stamped on arrival; `named` is what was written."""
    if not scope.name:
        raise EslSyntaxError("a window needs a FROM", text, span, clause="window", hint="add FROM a stream or a table")
    if scope.bounded:
        return _of_table(named, scope, text, span, example)
    if scope.time is not None:
        ways = " or ".join(example.replace("ts", time) for time in scope.times)
        if named is None and scope.other_times:
            message = f"{scope.name} have several time stamps, and a window moves along one"
            raise UnknownName(message, text, span, clause="window", hint=f"name one: {ways}")
        column = scope.dotted(named.text) if named is not None else None
        if named is not None and (column is None or column.name not in scope.times):
            hint = f"windows move along {' or '.join(scope.times)}: {ways}"
            raise UnknownName(_misnamed(named, scope), text, named.span, clause="window", hint=hint)
        return column.name if column else scope.time
    if not scope.latent:
        hint = "select the time-stamp column in derived streams, and window_end of windows"
        if isinstance(scope.source, str) and "." in scope.source:
            hint = "side outputs have no progress of their own: put them into a sink, and read that"
        message = f"{scope.name} has no time stamp, and a window needs one"
        raise Refused(message, text, span, clause="window", hint=hint)
    arrival = named is None or (named.text.lower() == INTERNAL_COLUMN and not scope.schema.find(named.text))
    if named is not None and not arrival:
        hint = f"its tuples are stamped on arrival: write {INTERNAL_COLUMN}; or declare the stream with ORDER BY"
        raise UnknownName(_misnamed(named, scope), text, named.span, clause="window", hint=hint)
    return None


def _misnamed(named: Name, scope: Scope) -> str:
    if scope.dotted(named.text):
        return f"'{named}' is not the time stamp of {scope.name}"
    return f"no column '{named}' in {scope.name}"


def _of_table(named: Name | None, scope: Scope, text: str, span: Span, example: str) -> str:
    """In a table any column of times will do, but it must be named."""
    if named is None and scope.time is not None:
        return scope.time
    if named is None:
        raise UnknownName(
            f"{scope.name} is a table: its window needs the column of the time",
            text,
            span,
            clause="window",
            hint=f"name one of type TIMESTAMP, as in {example}",
        )
    column = scope.dotted(named.text)
    if column is None:
        hint = suggest(named.text, scope.schema.names)
        raise UnknownName(f"no column '{named}' in {scope.name}", text, named.span, clause="window", hint=hint)
    if not column.type.is_type("timestamp", "timestamptz", "timestampltz"):
        raise TypeMismatch(
            f"a window cannot move along '{column.name}', which is {type_name(column.type)}",
            text,
            named.span,
            clause="window",
            hint=f"name a column of type TIMESTAMP, or make one in a subquery: CAST({column.name} AS TIMESTAMP)",
        )
    return column.name
