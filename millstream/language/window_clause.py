"""Window clauses: `[RANGE i, SLIDE i, WA c]` and the table functions TUMBLE and HOP, to windows of the algebra."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import EslSyntaxError, NotYet
from millstream.language.cursor import Cursor, split
from millstream.language.dialect import EslWindow
from millstream.language.statements import Name, Span
from millstream.windows.cumulate import Cumulate
from millstream.windows.panes import Paned
from millstream.windows.sliding import Sliding

MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class WindowClause:
    """A window as it was written: its shape, and the column of its time, if that was named."""

    window: Paned
    time: Name | None
    span: Span


def bracket_window(node: EslWindow, text: str) -> WindowClause:
    """The window of `[RANGE i, SLIDE i, WA c, ORIGIN 't']`; the slide is the range unless it is given."""
    tokens, span = _tokens(node)
    range_: timedelta | None = None
    slide: timedelta | None = None
    time: Name | None = None
    origin = 0
    for part in split(tokens, TokenType.COMMA):
        cursor = Cursor(part, text)
        cursor.clause = "window"
        if cursor.take("RANGE"):
            range_ = _length(cursor, "RANGE")
        elif cursor.take("SLIDE"):
            slide = _length(cursor, "SLIDE")
        elif cursor.take("WA"):
            time = cursor.name("the time-stamp column")
        elif cursor.take("ORIGIN"):
            origin = _origin(cursor)
        else:
            raise _not_yet(part, text)
        if not cursor.at_end:
            cursor.fail("nothing more was expected in this part of the window", hint="parts are separated by commas")
    if range_ is None:
        hint = "as in [RANGE 10 MINUTES, SLIDE 1 MINUTE, WA ts]"
        raise EslSyntaxError("a window needs a RANGE", text, span, clause="window", hint=hint)
    return WindowClause(Sliding(range_ // MICROSECOND, (slide or range_) // MICROSECOND, origin), time, span)


def function_window(node: EslWindow, text: str) -> tuple[Name, WindowClause]:
    """The input and the window of `TUMBLE(TABLE s, DESCRIPTOR(c), size)`, HOP or CUMULATE."""
    form = str(node.args["form"])
    tokens, span = _tokens(node)
    parts = split(tokens, TokenType.COMMA)
    if form == "TABLE" and len(tokens) > 2:  # TABLE(HOP(...)), as in Flink
        inner = EslWindow(form=tokens[0].text.upper(), text="")
        inner.meta.update(start=tokens[0].start, end=tokens[-1].end, tokens=tokens[2:-1])
        return function_window(inner, text)
    if form not in _FUNCTIONS:
        raise _not_yet(tokens or [], text, form)
    count, example = _FUNCTIONS[form]
    if len(parts) not in {count, count + 1}:
        hint = f"{form}(TABLE s, DESCRIPTOR(ts), {example})"
        raise EslSyntaxError(f"{form} takes {count} arguments", text, span, clause=form, hint=hint)
    source = Cursor(parts[0], text)
    source.clause = form
    source.expect("TABLE", hint=f"{form}(TABLE s, ...)")
    name = source.name("the stream")
    described = Cursor(parts[1], text)
    described.clause = form
    described.expect("DESCRIPTOR", hint="DESCRIPTOR(ts)")
    column = Cursor(described.bracketed("the time-stamp column"), text).name("the time-stamp column")
    lengths = []
    for part in parts[2:]:
        cursor = Cursor(part, text)
        cursor.clause = form
        lengths.append(cursor.interval() // MICROSECOND)
    origin = lengths.pop() if len(parts) > count else 0
    window: Paned
    if form == "TUMBLE":
        window = Sliding(lengths[0], lengths[0], origin)
    elif form == "HOP":
        window = Sliding(lengths[1], lengths[0], origin)
    else:
        if lengths[1] % lengths[0]:
            hint = "the size must be a multiple of the step"
            raise EslSyntaxError("the step does not divide the size", text, span, clause=form, hint=hint)
        window = Cumulate(lengths[0], lengths[1], origin)
    return name, WindowClause(window, column, span)


_FUNCTIONS = {
    "TUMBLE": (3, "INTERVAL '1' MINUTE"),
    "HOP": (4, "INTERVAL '1' MINUTE, INTERVAL '10' MINUTES"),
    "CUMULATE": (4, "INTERVAL '1' MINUTE, INTERVAL '1' HOUR"),
}
"""The table functions that run, with the number of their arguments (an offset may follow) and an example."""


def _length(cursor: Cursor, word: str) -> timedelta:
    token = cursor.current
    following = cursor.tokens[cursor.index + 1 :]
    if token and (
        token.text.upper() in {"ALL", "TUMBLING", "UNBOUNDED"} or [t for t in following if "ROW" in t.text.upper()]
    ):
        raise _not_yet(cursor.tokens, cursor.text, f"{word} {token.text}")
    length = cursor.interval()
    if length <= timedelta(0):
        cursor.fail(f"{word} must be longer than nothing", hint=f"as in {word} 10 MINUTES", span=_span(cursor.tokens))
    return length


def _origin(cursor: Cursor) -> int:
    if cursor.peek("FIRST"):
        raise _not_yet(cursor.tokens, cursor.text, "ORIGIN FIRST")
    written = cursor.string("a time", hint="ORIGIN '2026-01-01T00:00:00'")
    try:
        moment = datetime.fromisoformat(written.text)
    except ValueError:
        cursor.fail(f"'{written.text}' is no time", hint="write it as ISO 8601", span=written.span)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // MICROSECOND


def _tokens(node: EslWindow) -> tuple[list[Token], Span]:
    return list(node.meta["tokens"]), (int(node.meta["start"]), int(node.meta["end"]) + 1)


def _span(tokens: list[Token]) -> Span:
    return (tokens[0].start, tokens[-1].end + 1)


def _not_yet(tokens: list[Token], text: str, what: str = "") -> NotYet:
    written = what or " ".join(t.text for t in tokens[:2])
    return NotYet(
        f"{written} in a window is part of the language, but this version cannot run it yet",
        text,
        _span(tokens) if tokens else None,
        clause="window",
        hint="docs/language.md lists what works",
    )


def is_aggregate_window(node: exp.Expr) -> bool:
    """Whether a node is an aggregate with a window in brackets behind it."""
    return isinstance(node, EslWindow) and node.args["form"] == "[...]" and not isinstance(node.this, exp.Table)
