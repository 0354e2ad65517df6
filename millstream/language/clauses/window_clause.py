"""Window clauses in brackets: `[RANGE i, SLIDE i, WA c]` and its kinds, to windows of the algebra."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import EslSyntaxError, Refused, suggest
from millstream.language.parse import dialect
from millstream.language.parse.cursor import Cursor, split, tokens_span
from millstream.language.parse.nodes import EslWindow
from millstream.language.parse.statements import Name, Span
from millstream.windows.contract import Window
from millstream.windows.landmark import Landmark
from millstream.windows.rows import Rows
from millstream.windows.slide_by_tuple import SlideByTuple
from millstream.windows.sliding import Sliding
from millstream.windows.tuples import Order

MICROSECOND = timedelta(microseconds=1)
ALL = "ALL"
MOST_ANSWERS = 1_000_000
"""Each tuple is in range / slide windows, and there is an answer for each: more would run for hours."""

PARTS = ("RANGE", "SLIDE", "WA", "RATTR", "SATTR", "PA", "ORIGIN")

Length = timedelta | int | str
"""What RANGE and SLIDE can be: a time, so many rows, or ALL."""


@dataclass(frozen=True)
class WindowClause:
    """A window as it was written: its shape, the column of its time and the partition, if they were named.

    `ranked` is the column of SATTR rank(c), which must be that of the time too.
    """

    window: Window[Any]
    time: Name | None
    span: Span
    partition: tuple[exp.Expression, ...] = ()
    from_first: bool = False
    ranked: Name | None = None

    def same_as(self, other: WindowClause) -> bool:
        """Whether both mean one window; what one of them leaves out, the other may say."""
        times = {c.time.text.lower() for c in (self, other) if c.time is not None}
        return (
            self.window == other.window
            and len(times) < 2
            and self.partition == other.partition
            and self.from_first == other.from_first
        )


def bracket_window(node: EslWindow, text: str) -> WindowClause:
    """The window of `[RANGE i, SLIDE i, WA c, ORIGIN 't']`; the slide is the range unless it is given."""
    tokens, span = clause_tokens(node)
    parts: dict[str, Any] = {}
    for part in _joined(split(tokens, TokenType.COMMA)):
        cursor = Cursor(part, text)
        cursor.clause = "window"
        word = next((w for w in PARTS if cursor.take(w)), None)
        if word is None:
            raise _unknown(part, span, text)
        key = {"RATTR": "WA"}.get(word, word)
        if key in parts:
            message = f"{word} is given twice" if key == word else "WA and RATTR both name the time stamp"
            cursor.fail(message, hint="keep one of them", span=tokens_span(part))
        parts[key] = _part(cursor, word)
        if not cursor.at_end:
            cursor.fail("nothing more was expected in this part of the window", hint="parts are separated by commas")
    origin, order = parts.get("ORIGIN", 0), parts.get("SATTR")
    partition = tuple(parts.get("PA", ()))
    window = _window(parts, bool(partition), text, span)
    if "ORIGIN" in parts and window.paned is None:
        message = "ORIGIN moves windows of time, and these are counted in rows"
        raise EslSyntaxError(message, text, span, clause="window", hint="leave ORIGIN out")
    ranked = order if isinstance(order, Name) else None
    return WindowClause(window, parts.get("WA"), span, partition, origin is None, ranked)


def _part(cursor: Cursor, word: str) -> Any:
    match word:
        case "RANGE" | "SLIDE":
            return _length(cursor, word)
        case "WA" | "RATTR":
            return cursor.dotted_name("the time-stamp column")
        case "PA":
            tokens = cursor.bracketed("the columns") if cursor.peek("(") else cursor.rest()
            parts = split(tokens, TokenType.COMMA)
            return [cursor.parsed(dialect.parse_expression, part, "the column of the partition") for part in parts]
        case "SATTR":
            return _slide_attribute(cursor)
        case _:
            return _origin(cursor)


def _window(parts: dict[str, Any], partitioned: bool, text: str, span: Span) -> Window[Any]:
    range_, slide, order = parts.get("RANGE"), parts.get("SLIDE"), parts.get("SATTR")
    origin: int = parts.get("ORIGIN") or 0

    def wrong(message: str, hint: str) -> EslSyntaxError:
        return EslSyntaxError(message, text, span, clause="window", hint=hint)

    if range_ is None:
        raise wrong("a window needs a RANGE", "as in [RANGE 10 MINUTES, SLIDE 1 MINUTE, WA ts]")
    if slide == ALL:
        raise wrong("SLIDE ALL means nothing", "RANGE ALL, SLIDE 1 MINUTE is everything so far, anew every minute")
    if order is not None and (not isinstance(slide, int) or not isinstance(range_, timedelta)):
        raise wrong(
            "SATTR says how the tuples of a SLIDE are counted, and this window does not slide by tuples",
            "as in [RANGE 5 MINUTES, RATTR ts, SLIDE 5 ROWS, SATTR row_num]",
        )
    if isinstance(range_, timedelta):
        if isinstance(slide, int):
            ranked: Order = "rank" if isinstance(order, Name) else "row"
            return SlideByTuple(range_ // MICROSECOND, slide, ranked)
        check_number(range_ // (slide or range_), text, span)
        return Sliding(range_ // MICROSECOND, (slide or range_) // MICROSECOND, origin)
    if range_ == ALL:
        if isinstance(slide, timedelta):
            return Landmark(slide // MICROSECOND, origin)
        raise wrong(
            "RANGE ALL needs a SLIDE of time",
            "as in [RANGE ALL, SLIDE 1 MINUTE, WA ts]; for an answer per tuple use OVER (RANGE UNBOUNDED PRECEDING)",
        )
    if isinstance(slide, timedelta):
        raise Refused(
            "a window of rows cannot slide by time: in one slide any number of rows may come, and some of them would "
            "be in no window",
            text,
            span,
            clause="window",
            hint="slide by rows, as in SLIDE 10 ROWS, or give the window a RANGE of time",
        )
    return Rows(range_, slide or range_, partitioned)


def check_number(each: int, text: str, span: Span, clause: str = "window") -> None:
    """Refuse windows of which a tuple would be in too many, or which would be answered too often."""
    if each > MOST_ANSWERS:
        message = f"one tuple would be answered for {each:,} times, and {MOST_ANSWERS:,} are the most"
        hint = "emit less often" if clause == "EMIT" else "make the range shorter, or the slide longer"
        raise Refused(message, text, span, clause=clause, hint=hint)


def _length(cursor: Cursor, word: str) -> Length:
    if cursor.take(ALL):
        return ALL
    if cursor.peek("UNBOUNDED"):
        cursor.fail(f"{word} UNBOUNDED belongs to OVER", hint="write RANGE ALL", span=tokens_span(cursor.tokens))
    if cursor.take("TUMBLING") and word != "RANGE":
        cursor.fail(
            f"{word} TUMBLING means nothing", hint="write RANGE TUMBLING 5 MINUTES", span=tokens_span(cursor.tokens)
        )
    length = cursor.rows() if cursor.counts_rows() else cursor.interval()
    if not length or (isinstance(length, timedelta) and length < MICROSECOND):
        example = "10 ROWS" if isinstance(length, int) else "10 MINUTES"
        hint = f"as in {word} {example}"
        cursor.fail(f"{word} must be longer than nothing", hint=hint, span=tokens_span(cursor.tokens))
    return length


def _slide_attribute(cursor: Cursor) -> Name | str:
    """The column of `rank(c)`, or `row_num`."""
    if cursor.take("ROW_NUM"):
        return "row_num"
    if not cursor.take("RANK"):
        cursor.fail("expected row_num or rank(ts)", hint="row_num counts tuples as they arrive, rank(ts) by time stamp")
    named = cursor.bracketed("the time-stamp column")
    if not named:
        cursor.fail("expected the time-stamp column", hint="rank(ts)", span=tokens_span(cursor.tokens))
    return Cursor(named, cursor.text).last_name("the time-stamp column")


def _origin(cursor: Cursor) -> int | None:
    """Microseconds since the epoch, or None for FIRST."""
    if cursor.take("FIRST"):
        return None
    written = cursor.string("a time, or FIRST", hint="ORIGIN '2026-01-01T00:00:00', or ORIGIN FIRST")
    try:
        moment = datetime.fromisoformat(written.text)
    except ValueError:
        cursor.fail(f"'{written.text}' is no time", hint="write it as ISO 8601", span=written.span)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // MICROSECOND


def _joined(parts: list[list[Token]]) -> list[list[Token]]:
    """The parts of a clause; in `PA a, b` the comma separates columns, not parts."""
    joined: list[list[Token]] = []
    for part in parts:
        words = [t.text.upper() for t in part[::2]]
        bare = len(part) % 2 == 1 and all(t.text == "." for t in part[1::2]) and words[0] not in PARTS
        if bare and joined and joined[-1] and joined[-1][0].text.upper() == "PA":
            joined[-1] += [_COMMA, *part]
        else:
            joined.append(part)
    return joined


_COMMA = Token(TokenType.COMMA, ",")


def _unknown(part: list[Token], span: Span, text: str) -> EslSyntaxError:
    if not part:
        message, hint = "a part of the window is missing", "remove the comma"
        return EslSyntaxError(message, text, span, clause="window", hint=hint)
    hint = suggest(part[0].text, PARTS)
    if part[0].text.upper() == "SESSION":
        hint = "write SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), INTERVAL '10' MINUTES) in FROM"
    elif part[0].text.upper() == "ROWS":
        hint = "write RANGE 10 ROWS"
    message = f"'{part[0].text}' is no part of a window"
    return EslSyntaxError(message, text, tokens_span(part), clause="window", hint=hint)


def clause_tokens(node: EslWindow) -> tuple[list[Token], Span]:
    """The tokens of a clause and where it stands."""
    return list(node.meta["tokens"]), (int(node.meta["start"]), int(node.meta["end"]) + 1)


def is_aggregate_window(node: exp.Expr) -> bool:
    """Whether a node is an aggregate with a window in brackets behind it."""
    return isinstance(node, EslWindow) and node.args["form"] == "[...]" and not isinstance(node.this, exp.Table)


def is_over(node: exp.Expr) -> bool:
    """Whether a node is an aggregate with OVER behind it."""
    return isinstance(node, EslWindow) and node.args["form"] in {"OVER", "OVER name"}
