"""The parts that statements are made of: a SELECT, columns, options, addresses."""

from __future__ import annotations

from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millstream.catalog.column_types import type_mistake
from millstream.catalog.schema import Column, Schema
from millstream.errors import EslSyntaxError
from millstream.language.parse import dialect
from millstream.language.parse.cursor import Cursor, split, tokens_span
from millstream.language.parse.history_words import begins_moment
from millstream.language.parse.statements import Name, Place


def read_create(cursor: Cursor, kind: str) -> tuple[bool, bool]:
    """The words before the name: whether it says OR REPLACE, and whether IF NOT EXISTS."""
    cursor.expect("CREATE")
    or_replace = cursor.take("OR", "REPLACE")
    cursor.expect(kind)
    begin = cursor.index
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    if or_replace and if_not_exists:
        hint = "OR REPLACE puts it in the place of what is there, IF NOT EXISTS leaves that alone: keep one of them"
        cursor.fail(
            "OR REPLACE and IF NOT EXISTS contradict each other",
            hint=hint,
            span=tokens_span(cursor.tokens[begin : cursor.index]),
        )
    return or_replace, if_not_exists


def read_query(cursor: Cursor) -> exp.Query:
    """The SELECT that makes up the rest of a statement."""
    tokens = cursor.rest()
    for number, (start, at) in enumerate(pairwise(tokens)):
        if (start.text.upper(), at.text.upper()) == ("START", "AT") and begins_moment(tokens[number + 2 :]):
            raise EslSyntaxError(
                "START AT cannot stand here",
                cursor.text,
                (start.start, at.end + 1),
                clause="START AT",
                hint="it is the end of a query that goes on: SELECT, INSERT INTO, CREATE QUERY or CREATE VIEW",
            )
    for comma, after in pairwise(tokens):
        # sqlglot lets a superfluous comma pass.
        if comma.token_type is TokenType.COMMA and after.token_type in _NEVER_AFTER_COMMA:
            cursor.fail("an expression is missing after this comma", span=tokens_span([comma]), hint="remove the comma")
    return cursor.parsed(dialect.parse_query, tokens, "a SELECT")


def read_schema(cursor: Cursor, tokens: list[Token]) -> Schema:
    """The columns of a table or an aggregate, with their types."""
    _check_commas(cursor, tokens)
    return _schema(cursor, split(tokens, TokenType.COMMA, types=True))


def _check_commas(cursor: Cursor, tokens: list[Token]) -> None:
    """Refuse a comma beside which a column is missing."""
    parts = split(tokens, TokenType.COMMA, types=True)
    if tokens and not all(parts):
        before = sum(len(part) + 1 for part in parts[: parts.index([])])
        comma = tokens[min(before, len(tokens) - 1)]
        message, span = "a column is missing beside this comma", tokens_span([comma])
        cursor.fail(message, hint="remove the comma", span=span)


def read_columns(cursor: Cursor, tokens: list[Token]) -> tuple[Schema, dict[str, exp.Expression]]:
    """The columns of a stream, and the expressions of those that are computed: `time TIMESTAMP AS (expression)`."""
    _check_commas(cursor, tokens)
    declared: list[list[Token]] = []
    made: dict[int, exp.Expression] = {}
    for number, part in enumerate(split(tokens, TokenType.COMMA, types=True)):
        at = next((i for i, token in enumerate(part) if i and token.text.upper() == "AS"), None)
        if at is None:
            declared.append(part)
            continue
        words = [token.text.upper() for token in part[at - 2 : at]]
        declared.append(part[: at - 2] if words == ["GENERATED", "ALWAYS"] else part[:at])
        rest = Cursor(part, cursor.text)
        rest.clause = cursor.clause
        rest.index = at + 1
        inside = rest.bracketed("the expression") if rest.peek("(") else []
        if not inside or not rest.at_end:
            hint = "as in time TIMESTAMP AS (timestamp_millis(ms))"
            rest.fail("expected an expression in brackets after AS", hint=hint, span=tokens_span(part[at:]))
        made[number] = rest.parsed(dialect.parse_expression, inside, "an expression")
    schema = _schema(cursor, declared)
    return schema, {schema[number].name: expression for number, expression in made.items()}


def _schema(cursor: Cursor, parts: list[list[Token]]) -> Schema:
    columns = [_column(cursor, part) for part in parts]
    seen: set[str] = set()
    for column, part in zip(columns, parts, strict=True):
        if column.name.lower() in seen:
            cursor.fail(f"two columns are named '{column.name}'", hint="rename one", span=tokens_span(part[:1]))
        seen.add(column.name.lower())
    return Schema(columns)


def _column(cursor: Cursor, tokens: list[Token]) -> Column:
    if len(tokens) < 2:
        cursor.fail(
            "a column needs a name and a type",
            hint="as in (item_id INT, price REAL)",
            span=tokens_span(tokens) if tokens else None,
        )
    part = Cursor(tokens, cursor.text)
    part.clause = cursor.clause
    name = part.name("the column").text
    words = part.rest()
    nullable = True
    if [t.text.upper() for t in words[-2:]] == ["NOT", "NULL"]:
        words, nullable = words[:-2], False
    if not words:
        cursor.fail("a column needs a type", hint="as in (item_id INT NOT NULL)", span=tokens_span(tokens))
    try:
        type_ = part.parsed(dialect.parse_type, words, "a type")
    except EslSyntaxError:
        cursor.fail(
            f"'{cursor.text[slice(*tokens_span(words))]}' is not a type",
            hint="types are Spark SQL's: INT, BIGINT, REAL, DOUBLE, DECIMAL(10,2), STRING, CHAR(10), BOOLEAN, "
            "DATE, TIMESTAMP, ARRAY<...>, STRUCT<...>",
            span=tokens_span(words),
        )
    for inside in type_.find_all(exp.DataType):
        if (wrong := type_mistake(inside)) is not None:
            message, hint = wrong
            cursor.fail(message, hint=hint, span=tokens_span(words))
    return Column(name, type_, nullable)


def read_names(cursor: Cursor, tokens: list[Token]) -> tuple[Name, ...]:
    """Names between commas."""
    if not tokens:
        return ()
    parts = split(tokens, TokenType.COMMA)
    if not all(parts):
        cursor.fail("a name is missing between the commas", hint="as in (a, b)", span=tokens_span(tokens))
    return tuple(_part(part, cursor).last_name("the column") for part in parts)


def _part(tokens: list[Token], cursor: Cursor) -> Cursor:
    part = Cursor(tokens, cursor.text)
    part.clause = cursor.clause
    return part


def read_options(cursor: Cursor) -> dict[str, str]:
    """`name = value` between commas, in parentheses."""
    options: dict[str, str] = {}
    begin = cursor.index
    for part in split(cursor.bracketed("the options", hint="OPTIONS (format = 'json')"), TokenType.COMMA):
        if not part:
            span = tokens_span(cursor.tokens[begin : cursor.index])
            message, hint = "an option is missing between the brackets", "OPTIONS (format = 'json')"
            raise EslSyntaxError(message, cursor.text, span, clause="OPTIONS", hint=hint)
        option = Cursor(part, cursor.text)
        option.clause = "OPTIONS"
        key = option.dotted_name("the option").text.lower()
        option.expect("=", hint="OPTIONS (format = 'json')")
        if option.at_end:
            option.fail("expected a value", hint="OPTIONS (format = 'json')")
        if key in options:
            option.fail(f"{key} is given twice", hint="keep one of them", span=tokens_span(part))
        value, *more = option.rest()
        if more:
            hint = "put quotes around a value of several words"
            option.fail(f"'{more[0].text}' is not understood here", hint=hint, span=tokens_span(more))
        options[key] = value.text
    return options


def read_place(cursor: Cursor, example: str) -> Place:
    """An address in quotes."""
    place = cursor.string("an address", hint=f"as in {example}")
    return Place(place.text, place.span)


_NEVER_AFTER_COMMA = {TokenType.COMMA, TokenType.FROM, TokenType.WHERE, TokenType.R_PAREN, TokenType.GROUP_BY}
