"""EMIT at the end of a SELECT: when a window answers while it fills."""

from __future__ import annotations

from typing import Any

from millstream.errors import Refused
from millstream.language.clauses.window_clause import MICROSECOND, check_number, clause_tokens
from millstream.language.parse.cursor import Cursor
from millstream.language.parse.nodes import EslWindow
from millstream.windows.contract import Window
from millstream.windows.emit import TABLES_ARE_COMPLETE, Emit, Pace

EMITTED = "emitted"
"""The column that EMIT adds: 'partial' or 'final'."""


def emission(node: EslWindow, text: str) -> Emit:
    """`EMIT EVERY i [WALL]`, `EMIT EVERY n ROWS` or `EMIT ON CHANGE`."""
    tokens, span = clause_tokens(node)
    cursor = Cursor(tokens, text)
    cursor.clause = "EMIT"
    if cursor.take("EMIT ON CHANGE"):
        emit = Emit(Pace.CHANGE)
    else:
        cursor.expect("EMIT EVERY")
        if cursor.counts_rows():
            emit = Emit(Pace.ROWS, cursor.rows())
        else:
            length = cursor.interval() // MICROSECOND
            emit = Emit(Pace.WALL if cursor.take("WALL") else Pace.EVENT, length)
        if not emit.every:
            cursor.fail("EMIT EVERY needs more than nothing", hint="as in EMIT EVERY 10 SECONDS", span=span)
    if not cursor.at_end:
        cursor.fail("nothing more was expected after EMIT", hint="EMIT is the last clause of a SELECT")
    return emit


def check_emission(node: EslWindow, window: Window[Any], bounded: bool, text: str) -> None:
    """Refuse EMIT where nothing fills slowly, and where it would never end."""
    reason = TABLES_ARE_COMPLETE if bounded else window.reason_not_to_emit
    if reason:
        hint = "leave EMIT out; it is for windows of time, as [RANGE 1 HOUR, WA ts], CUMULATE and [RANGE ALL, ...]"
        raise Refused(reason, text, clause_tokens(node)[1], clause="EMIT", hint=hint)
    emit = emission(node, text)
    if emit.pace is Pace.EVENT:
        check_number((window.length or 0) // emit.every, text, clause_tokens(node)[1], "EMIT")
