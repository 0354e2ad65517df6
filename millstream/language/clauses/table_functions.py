"""The table functions TUMBLE, HOP, CUMULATE and SESSION of Flink and Calcite, to windows of the algebra."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import EslSyntaxError, SettingError, suggest
from millstream.language.clauses.window_clause import MICROSECOND, WindowClause, check_number, clause_tokens
from millstream.language.parse import dialect
from millstream.language.parse.cursor import Cursor, split, tokens_span
from millstream.language.parse.nodes import EslWindow
from millstream.language.parse.statements import Name, Span
from millstream.language.parse.window_functions import WINDOW_FUNCTIONS
from millstream.windows.contract import Window

TableArgument = Name | exp.Query
"""What a function reads: a relation by name, or a subquery."""


def function_window(node: EslWindow, text: str) -> tuple[TableArgument, WindowClause]:
    """The input and the window of `TUMBLE(TABLE s, DESCRIPTOR(c), size)`, and of the others."""
    form = str(node.args["form"])
    tokens, span = clause_tokens(node)
    if form == "TABLE" and len(tokens) > 2 and (tokens[1].text, tokens[-1].text) == ("(", ")"):  # as in Flink
        inner = EslWindow(form=tokens[0].text.upper(), text="")
        inner.meta.update(start=tokens[0].start, end=tokens[-1].end, tokens=tokens[2:-1])
        return function_window(inner, text)
    if form not in WINDOW_FUNCTIONS:
        hint = suggest(form, WINDOW_FUNCTIONS)
        raise EslSyntaxError(f"{form} is no function that makes windows", text, span, clause="FROM", hint=hint)
    arguments = _arguments(form, tokens, span, text)
    source, partition = _data(arguments["DATA"])
    times = _described(arguments["TIMECOL"])
    if len(times) > 1:
        arguments["TIMECOL"].fail("a stream has one time stamp", hint="DESCRIPTOR(ts)", span=times[1].span)
    if "KEY" in arguments:
        partition += [_as_column(name) for name in _described(arguments["KEY"])]
    if partition and WINDOW_FUNCTIONS[form].optional != "KEY":
        message = f"{form} has the same windows for every partition"
        raise EslSyntaxError(message, text, span, clause=form, hint="leave PARTITION BY out, and use GROUP BY")
    lengths = {k: _length(c, k) for k, c in arguments.items() if k not in {"DATA", "TIMECOL", "KEY"}}
    return source, WindowClause(_window(form, lengths, text, span), times[0], span, tuple(partition))


def _window(form: str, lengths: dict[str, int], text: str, span: Span) -> Window[Any]:
    try:
        window = WINDOW_FUNCTIONS[form].window(lengths)
    except SettingError as problem:
        raise EslSyntaxError(problem.message, text, span, clause=form, hint=problem.hint) from None
    if (paned := window.paned) is not None:
        ids = paned.wids_at(paned.origin)
        check_number(ids.stop - ids.start, text, span, form)
    return window


def _arguments(form: str, tokens: list[Token], span: Span, text: str) -> dict[str, Cursor]:
    """A cursor for each argument, by its name."""
    function = WINDOW_FUNCTIONS[form]
    names = function.arguments
    parts = _joined(split(tokens, TokenType.COMMA))
    hint = f"{form}(TABLE s, DESCRIPTOR(ts), {function.example})"
    given: dict[str, Cursor] = {}
    order = list(names)
    if function.optional == "KEY" and len(parts) == len(names):
        order = ["DATA", "TIMECOL", "KEY", "SIZE"]  # Calcite puts the key before the gap
    for place, part in enumerate(parts):
        cursor = Cursor(part, text)
        cursor.clause = form
        name = order[place] if place < len(order) else ""
        if len(part) > 1 and part[1].token_type is TokenType.FARROW:
            word = part[0].text.upper()
            name = "SIZE" if (form, word) == ("SESSION", "GAP") else word
            cursor.index = 2
            if name not in names or name in given:
                problem, way_out = f"{form} has no argument '{part[0].text}'", suggest(word, names)
                if name in given:
                    problem, way_out = f"{word} is given twice", hint
                cursor.fail(problem, hint=way_out, span=(part[0].start, part[0].end + 1))
        given[name] = cursor
    needed = names[:-1]
    if len(parts) > len(names) or any(n not in given for n in needed):
        raise EslSyntaxError(f"{form} takes {len(needed)} arguments", text, span, clause=form, hint=hint)
    return given


def _joined(parts: list[list[Token]]) -> list[list[Token]]:
    """The arguments; in `TABLE s PARTITION BY a, b` the comma separates columns, not arguments."""
    joined: list[list[Token]] = []
    for part in parts:
        words = [t.text.upper() for t in part[:2]]
        starts = not words or words[0] == "DESCRIPTOR" or "=>" in words
        if joined and not starts and len(joined) == 1 and any(t.token_type is _PARTITION for t in joined[0]):
            joined[0] += [Token(TokenType.COMMA, ","), *part]
        else:
            joined.append(part)
    return joined


_PARTITION = TokenType.PARTITION_BY


def _data(cursor: Cursor) -> tuple[TableArgument, list[exp.Expression]]:
    """The relation or the subquery, and the expressions of PARTITION BY."""
    source: TableArgument
    named = cursor.take("TABLE")
    if cursor.peek("("):
        source = cursor.parsed(dialect.parse_query, cursor.bracketed("a subquery"), "a subquery")
    else:
        if not named:
            cursor.fail("expected TABLE", hint=f"{cursor.clause}(TABLE s, ...)")
        source = cursor.name("the stream")
    partition: list[exp.Expression] = []
    if cursor.take("PARTITION BY"):
        parts = split(cursor.rest(), TokenType.COMMA)
        partition = [cursor.parsed(dialect.parse_expression, part, "the key of the partition") for part in parts]
    _check_end(cursor)
    return source, partition


def _described(cursor: Cursor) -> list[Name]:
    cursor.expect("DESCRIPTOR", hint="DESCRIPTOR(ts)")
    parts = split(cursor.bracketed("the time-stamp column"), TokenType.COMMA)
    if not all(parts):
        cursor.fail("expected the time-stamp column", hint="DESCRIPTOR(ts)", span=tokens_span(cursor.tokens))
    _check_end(cursor)
    return [Cursor(part, cursor.text).last_name("the column") for part in parts]


def _length(cursor: Cursor, name: str) -> int:
    length = cursor.interval()
    _check_end(cursor)
    if length < MICROSECOND and name != "OFFSET":
        message, hint = f"{cursor.clause} needs lengths that are longer than nothing", "as in INTERVAL '1' MINUTE"
        cursor.fail(message, hint=hint, span=tokens_span(cursor.tokens))
    return length // MICROSECOND


def _check_end(cursor: Cursor) -> None:
    if not cursor.at_end:
        cursor.fail("nothing more was expected in this argument", hint="arguments are separated by commas")


def _as_column(name: Name) -> exp.Expression:
    column = exp.column(exp.to_identifier(name.text))
    column.this.meta.update(start=name.span[0], end=name.span[1] - 1)
    return column
