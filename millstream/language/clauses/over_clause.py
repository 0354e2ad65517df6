"""`OVER (PARTITION BY ... ORDER BY ... RANGE | ROWS ... SLIDE ...)`, to frames of the algebra."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import EslSyntaxError, NotYet, Refused
from millstream.language.clauses.window_clause import MICROSECOND
from millstream.language.parse import dialect
from millstream.language.parse.cursor import Cursor, split, tokens_span
from millstream.language.parse.statements import Span
from millstream.windows.over import Over
from millstream.windows.over_range import OverRange
from millstream.windows.over_rows import OverRows

UNBOUNDED = None
_HINT = "as in OVER (PARTITION BY k RANGE 5 MINUTES PRECEDING) or OVER (ROWS 9 PRECEDING SLIDE 10)"


@dataclass(frozen=True)
class OverClause:
    """OVER as it was written; the frame's order of rows is still that of time stamps."""

    partition: tuple[exp.Expression, ...]
    order: exp.Expression | None
    window: Over
    span: Span

    @property
    def slide(self) -> tuple[str, int] | None:
        """What its SLIDE counts and how far it goes, None if every tuple answers."""
        if self.window.slots is not None:
            return "time", self.window.slots.length
        return ("rows", self.window.every) if self.window.every > 1 else None


def over_clause(tokens: list[Token], span: Span, text: str) -> OverClause:
    """What stands between the parentheses of OVER."""
    cursor = Cursor(tokens, text)
    cursor.clause = "OVER"
    if tokens and cursor.current and not _starts_part(cursor, "PARTITION BY", "ORDER BY", *_FRAME_WORDS):
        hint = "name a window alone, as in OVER w" if len(tokens) > 1 else _HINT
        cursor.fail("OVER begins with PARTITION BY, ORDER BY, RANGE or ROWS", hint=hint)
    partition: list[exp.Expression] = []
    if cursor.take("PARTITION BY"):
        parts = split(_until(cursor, "ORDER BY", *_FRAME_WORDS), TokenType.COMMA)
        partition = [cursor.parsed(dialect.parse_expression, part, "what to partition by") for part in parts]
    order = _order(cursor) if cursor.take("ORDER BY") else None
    unit = next((word for word in ("RANGE", "ROWS") if cursor.take(word)), None)
    if cursor.peek("GROUPS"):
        hint = "use RANGE, which keeps tuples of one time together"
        cursor.fail("frames of GROUPS are not part of ESL", hint=hint, span=_rest(cursor))
    if unit is None and order is None:
        raise Refused(
            "OVER without a frame would need the whole stream",
            text,
            span,
            clause="OVER",
            hint=f"say how far a frame reaches back, {_HINT}",
        )
    preceding = _frame(cursor, unit) if unit else UNBOUNDED
    slide = _slide(cursor, unit or "RANGE") if cursor.take("SLIDE") else None
    active = cursor.peek("ACTIVE", "EXPIRATION")
    if active:
        _active(cursor, unit, preceding, slide)
    if not cursor.at_end:
        cursor.fail("nothing more was expected in OVER", hint=_HINT)
    window = OverRows(preceding, slide or 1) if unit == "ROWS" else OverRange(preceding, slide, active=active)
    return OverClause(tuple(partition), order, window, span)


def _active(cursor: Cursor, unit: str | None, preceding: int | None, slide: int | None) -> None:
    """ACTIVE EXPIRATION, which only frames have that tuples leave as time goes by."""
    span = tokens_span(cursor.tokens[cursor.index : cursor.index + 2])
    cursor.expect("ACTIVE", "EXPIRATION")
    reason = None
    if unit == "ROWS":
        reason = "a tuple leaves a frame of ROWS only when another comes, which has an answer already"
    elif preceding is UNBOUNDED:
        reason = "no tuple ever leaves a frame without a bound"
    elif slide is not None:
        reason = "SLIDE leaves answers out and ACTIVE EXPIRATION adds some: they do not go together"
    if reason:
        hint = "as in OVER (RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION)"
        raise Refused(reason, cursor.text, span, clause="OVER", hint=hint)


def _order(cursor: Cursor) -> exp.Expression:
    """The one column of ORDER BY, ascending."""
    tokens = _until(cursor, *_FRAME_WORDS)
    terms = split(tokens, TokenType.COMMA)
    span = tokens_span(tokens) if tokens else None
    if len(terms) > 1:
        _not_by_time(cursor, span)
    words = [t.text.upper() for t in terms[0]]
    if "DESC" in words:
        _not_by_time(cursor, span)
    if "NULLS" in words:
        hint = "leave NULLS out: a tuple without a time stamp is in no frame"
        cursor.fail("the time stamp is never NULL here", hint=hint, span=span)
    kept = terms[0][:-1] if words[-1:] == ["ASC"] else terms[0]
    return cursor.parsed(dialect.parse_expression, kept, "the time-stamp column")


def _not_by_time(cursor: Cursor, span: Span | None) -> NoReturn:
    raise Refused(
        "streams are ordered by their time stamp, and by nothing else: any other order is known only at their end",
        cursor.text,
        span,
        clause="OVER",
        hint="ORDER BY the time-stamp column alone, ascending, or leave ORDER BY out",
    )


def _frame(cursor: Cursor, unit: str) -> int | None:
    """How far a frame reaches back: rows, microseconds or without end."""
    between = cursor.take("BETWEEN")
    preceding = _bound(cursor, unit)
    if between:
        cursor.expect("AND", hint="BETWEEN 5 PRECEDING AND CURRENT ROW")
        if not cursor.take("CURRENT", "ROW"):
            start = cursor.index
            _bound(cursor, unit)
            raise NotYet(
                "a frame that ends before the current row cannot run yet",
                cursor.text,
                tokens_span(cursor.tokens[start : cursor.index]),
                clause="OVER",
                hint="end the frame at CURRENT ROW",
            )
    if cursor.peek("EXCLUDE"):
        cursor.fail("EXCLUDE is not part of ESL", hint="leave it out", span=_rest(cursor))
    return preceding


def _bound(cursor: Cursor, unit: str) -> int | None:
    start = cursor.index
    length: int | None = 0
    if cursor.take("CURRENT", "ROW"):
        return length
    if cursor.take("UNBOUNDED"):
        length = UNBOUNDED
    elif unit == "ROWS":
        length = cursor.rows(unit=False)
    else:
        length = cursor.interval() // MICROSECOND
    if cursor.take("FOLLOWING"):
        raise Refused(
            "FOLLOWING looks into the future: the tuples that a frame would wait for have not come",
            cursor.text,
            tokens_span(cursor.tokens[start : cursor.index]),
            clause="OVER",
            hint="end the frame at CURRENT ROW; a window in brackets, as [RANGE 5 MINUTES, WA ts], waits for its end",
        )
    cursor.expect("PRECEDING", hint=f"as in {unit} {'9' if unit == 'ROWS' else '5 MINUTES'} PRECEDING")
    return length


def _slide(cursor: Cursor, unit: str) -> int:
    token = cursor.current
    before = cursor.index
    if unit == "ROWS":
        following = cursor.tokens[before + 1 : before + 2]
        if cursor.peek("INTERVAL") or (following and following[0].text.upper() not in {"ROWS", "ROW", "ACTIVE"}):
            cursor.fail("a frame of ROWS slides by rows", hint="as in ROWS 9 PRECEDING SLIDE 10", span=_rest(cursor))
        slide = cursor.rows()
    else:
        if cursor.counts_rows() or (token and before + 1 >= len(cursor.tokens)):
            hint = "as in RANGE 5 MINUTES PRECEDING SLIDE 1 MINUTE"
            cursor.fail("a frame of RANGE slides by time", hint=hint, span=_rest(cursor))
        slide = cursor.interval() // MICROSECOND
    if not slide:
        cursor.fail("SLIDE must be longer than nothing", hint=_HINT, span=tokens_span(cursor.tokens[before:]))
    return slide


def _rest(cursor: Cursor) -> Span | None:
    return tokens_span(cursor.tokens[cursor.index :]) if not cursor.at_end else None


_FRAME_WORDS = ("RANGE", "ROWS", "GROUPS", "SLIDE", "ACTIVE")
_LENGTHS = {TokenType.NUMBER, TokenType.STRING, TokenType.INTERVAL, TokenType.BETWEEN}


def _starts_part(cursor: Cursor, *words: str) -> bool:
    """Whether a part of OVER begins here; `range` and its like may also be names of columns."""
    word = next((w for w in words if cursor.peek(w)), None)
    if word is None or word in {"PARTITION BY", "ORDER BY"}:
        return word is not None
    after = cursor.tokens[cursor.index + 1 : cursor.index + 2]
    known = {"UNBOUNDED", "CURRENT", "EXPIRATION"}
    return bool(after) and (after[0].token_type in _LENGTHS or after[0].text.upper() in known)


def _until(cursor: Cursor, *words: str) -> list[Token]:
    """The tokens before the next part of OVER."""
    start, depth = cursor.index, 0
    while not cursor.at_end and (depth or not _starts_part(cursor, *words)):
        kind = cursor.tokens[cursor.index].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        cursor.index += 1
    return cursor.tokens[start : cursor.index]


def named_windows(query: exp.Select, text: str) -> dict[str, OverClause]:
    """The windows of a WINDOW clause by name."""
    found: dict[str, OverClause] = {}
    for node in query.args.get("windows") or ():
        name = node.this.name.lower()
        span = (int(node.meta["start"]), int(node.meta["end"]) + 1)
        if name in found:
            message, hint = f"two windows are named '{node.this.name}'", "rename one"
            raise EslSyntaxError(message, text, span, clause="WINDOW", hint=hint)
        found[name] = over_clause(list(node.meta["tokens"]), span, text)
    return found
