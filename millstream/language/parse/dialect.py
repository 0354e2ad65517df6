"""The ESL dialect: Spark's expressions, plus the window clauses that only ESL has."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.errors import ErrorLevel, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from millstream.catalog.column_types import COLUMN_TYPES
from millstream.language.parse.checks.every_argument import check_arguments
from millstream.language.parse.checks.every_word import check_brackets, check_words
from millstream.language.parse.checks.refused_words import NotUnderstood, UnexpectedToken
from millstream.language.parse.history_words import MOMENT, since_length
from millstream.language.parse.nodes import SINCE, EslWindow
from millstream.language.parse.spans import span_of
from millstream.language.parse.spark_dialect import SparkFaithful
from millstream.language.parse.window_functions import WINDOW_FUNCTIONS

MERGE_ORDERED = "MERGE ORDERED"
WINDOW_WORDS = ("RANGE", "ROWS", "SLIDE", "WA", "PA", "RATTR", "SATTR", "SESSION", "ORIGIN")


class Esl(SparkFaithful):
    """Spark SQL with ESL's windows, and with standard SQL's quotes: 'it''s' is text, "x" is a name."""

    class Tokenizer(SparkFaithful.Tokenizer):
        """Standard quotes; Spark's backquotes and backslashes stay."""

        QUOTES: ClassVar = ["'"]
        IDENTIFIERS: ClassVar = ["`", '"']
        STRING_ESCAPES: ClassVar = ["'", "\\"]
        COMMANDS: ClassVar = set()  # sqlglot would swallow SHOW and EXPLAIN whole, as text
        # A token of another dialect: as a plain word EMIT would be taken for an alias of the table before it.
        KEYWORDS: ClassVar = {
            **SparkFaithful.Tokenizer.KEYWORDS,
            "EMIT EVERY": TokenType.PREWHERE,
            "EMIT ON CHANGE": TokenType.PREWHERE,
            MERGE_ORDERED: TokenType.UNION,
        }

    class Parser(SparkFaithful.Parser):
        """Reads the expressions and SELECTs of ESL."""

        def __init__(self, **options: Any) -> None:
            super().__init__(**{**options, "error_level": ErrorLevel.IMMEDIATE, "dialect": Esl})

        QUERY_MODIFIER_PARSERS: ClassVar = {
            **SparkFaithful.Parser.QUERY_MODIFIER_PARSERS,
            TokenType.PREWHERE: lambda self: ("emit", self._parse_emit()),
        }
        # sqlglot's own OVER knows no SLIDE: it must leave the clause to this parser.
        WINDOW_BEFORE_PAREN_TOKENS: ClassVar = set()
        # ARRAY(1, 2)[0] is an element of an array: sqlglot would take ARRAY[0] for a constructor.
        ARRAY_CONSTRUCTORS: ClassVar = {}
        NO_PAREN_IF_COMMANDS: ClassVar = False  # IF without brackets is no statement of another language

        def _warn_unsupported(self) -> None:
            """Write nothing to the terminal: who reads the tree refuses what sqlglot has not understood."""

        def raise_error(self, message: str, token: Token | None = None) -> None:
            """Stop at the first mistake, and know where it is."""
            at = token or self._curr or self._prev
            raise UnexpectedToken(message, (at.start, at.end + 1) if at else (0, 0))

        def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
            if alias:  # WINDOW w AS (...)
                if this is None:
                    self.raise_error("Expecting the name of a window")
                self._match(TokenType.ALIAS)
                if not self._match(TokenType.L_PAREN, advance=False):
                    self.raise_error("Expecting (")
                return self._opaque(this, "WINDOW", TokenType.L_PAREN, TokenType.R_PAREN)
            parsed = super()._parse_window(this)
            if not isinstance(parsed, exp.Expression):
                return parsed
            if self._at_window_bracket():
                return self._opaque(parsed, "[...]", TokenType.L_BRACKET, TokenType.R_BRACKET)
            if not self._match(TokenType.OVER):
                return parsed
            if self._match(TokenType.L_PAREN, advance=False):
                return self._opaque(parsed, "OVER", TokenType.L_PAREN, TokenType.R_PAREN)
            if not self._match_set((TokenType.VAR, TokenType.IDENTIFIER)):
                self.raise_error("Expecting (")
            return self._window_node(parsed, "OVER name", self._index - 1, [self._prev])

        def parse_set_operation(
            self, this: exp.Expr | None, consume_pipe: bool = False, intersect_only: bool = False
        ) -> exp.SetOperation | None:
            """UNION and the like; MERGE ORDERED is one of them, and remembers that it is."""
            ordered = bool(self._curr and self._curr.text.upper() == MERGE_ORDERED)
            parsed: exp.SetOperation | None = super().parse_set_operation(this, consume_pipe, intersect_only)
            if ordered and parsed is not None:
                parsed.meta["ordered"] = True
            return parsed

        def _parse_atom(self) -> exp.Expr | None:
            return self._placed(self._index, super()._parse_atom())

        def _parse_primary(self) -> exp.Expr | None:
            return self._placed(self._index, super()._parse_primary())

        def _placed(self, begin: int, parsed: exp.Expr | None) -> exp.Expr | None:
            """A node that knows its place in the text, also where sqlglot notes none: for `()` and `NULL`."""
            if parsed is not None and self._index > begin and span_of(parsed) is None:
                parsed.meta.update(start=self._tokens[begin].start, end=self._prev.end)
            return parsed

        def _parse_emit(self) -> EslWindow:
            """`EMIT EVERY 5 SECONDS WALL`: the words after it that can belong to it."""
            begin = self._index
            self._advance()
            while self._curr and self._curr.token_type in _IN_EMIT:
                self._advance()
            return self._window_node(None, "EMIT", begin, self._tokens[begin : self._index])

        def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
            # After a column, `[range]` may be an index; a length after the word tells that it is a window.
            certain = isinstance(this, exp.Table | exp.Func) or self._ahead(2) in _AFTER_WINDOW_WORD
            if this is not None and certain and self._at_window_bracket():
                return self._opaque(this, "[...]", TokenType.L_BRACKET, TokenType.R_BRACKET)
            return super()._parse_bracket(this)

        def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
            if self._curr and self._next and self._next.token_type is TokenType.L_PAREN:
                word = self._curr.text.upper()
                if word == "TABLE" or word in WINDOW_FUNCTIONS:
                    self._advance()
                    node = self._opaque(None, word, TokenType.L_PAREN, TokenType.R_PAREN)
                    alias = self._parse_table_alias()
                    return exp.Table(this=node, alias=alias)
            table = self._parse_since(super()._parse_table(*args, **kwargs))
            if table is not None and self._at_window_bracket():  # the window may also come after the alias
                return self._opaque(table, "[...]", TokenType.L_BRACKET, TokenType.R_BRACKET)
            return table

        def _parse_table_alias(self, *args: Any, **kwargs: Any) -> exp.TableAlias | None:
            if self._at_since():
                return None
            if self._curr and self._curr.token_type is TokenType.VAR and self._curr.text.upper() in {"SINCE", "UNTIL"}:
                # As an alias it would be said by AS.
                word, span = self._curr.text.upper(), (self._curr.start, self._curr.end + 1)
                raise NotUnderstood(f"{word} takes a moment", span, clause=word, hint=MOMENT)
            alias: exp.TableAlias | None = super()._parse_table_alias(*args, **kwargs)
            return alias

        def _at_since(self) -> int:
            return since_length(self._tokens[self._index :]) if self._curr else 0

        def _parse_since(self, table: exp.Expr | None) -> exp.Expr | None:
            """`s SINCE t UNTIL u`: the words are kept beside the input."""
            if isinstance(table, exp.Table) and (length := self._at_since()):
                table.meta[SINCE] = self._tokens[self._index : self._index + length]
                self._advance(length)
                if not table.alias and (alias := self._parse_table_alias()):
                    table.set("alias", alias)
            return table

        def _ahead(self, count: int) -> TokenType | None:
            index = self._index + count
            return self._tokens[index].token_type if index < len(self._tokens) else None

        def _at_window_bracket(self) -> bool:
            return bool(
                self._curr
                and self._curr.token_type is TokenType.L_BRACKET
                and self._next
                and self._next.text.upper() in WINDOW_WORDS
            )

        def _opaque(self, this: exp.Expr | None, form: str, opening: TokenType, closing: TokenType) -> EslWindow:
            """Take everything up to the matching bracket as one window clause."""
            first, depth, begin = self._curr, 0, self._index
            while self._curr:
                kind = self._curr.token_type
                depth += (kind is opening) - (kind is closing)
                self._advance()
                if depth == 0:
                    break
            else:
                self.raise_error(f"the window that opens here has no closing '{_SIGNS[closing]}'", first)
            # Without the outer brackets: what a parser of windows reads, each token knowing its place.
            return self._window_node(this, form, begin, self._tokens[begin + 1 : self._index - 1])

        def _window_node(self, this: exp.Expr | None, form: str, begin: int, tokens: list[Token]) -> EslWindow:
            """The clause from a token to the one just read."""
            span = (self._tokens[begin].start, self._prev.end + 1)
            node = EslWindow(this=this, form=form, text=self.sql[slice(*span)])
            node.meta.update(start=span[0], end=span[1] - 1, tokens=tokens)
            return node


# sqlglot offers no public way to parse a part of a statement from tokens that know their place in a longer text.
# ruff: noqa: SLF001

_AFTER_WINDOW_WORD = {TokenType.NUMBER, TokenType.ALL, TokenType.VAR, TokenType.INTERVAL, TokenType.STRING}
_IN_EMIT = {TokenType.NUMBER, TokenType.STRING, TokenType.INTERVAL, TokenType.VAR, TokenType.ROWS, TokenType.ROW}
_OPENING = {TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN}
_QUERY = "a query is written as SELECT a, b FROM s WHERE a > 1"
_SIGNS = {TokenType.R_BRACKET: "]", TokenType.R_PAREN: ")"}


def tokenize(text: str) -> list[Token]:
    """The tokens of a script; each knows its place in the text."""
    return list(Esl().tokenize(text))


def parse_query(tokens: list[Token], text: str) -> exp.Query:
    """The SELECT that the tokens make, all of them."""
    first = tokens[0]
    if first.token_type not in _OPENING:
        raise NotUnderstood(f"expected SELECT, found '{first.text}'", (first.start, first.end + 1), hint=_QUERY)
    tree = _parse(tokens, text, Esl.Parser._parse_statement)
    if not isinstance(tree, exp.Query):
        raise NotUnderstood("expected a SELECT", (first.start, first.end + 1), hint=_QUERY)
    return tree


def parse_expression(tokens: list[Token], text: str) -> exp.Expression:
    """The scalar expression that the tokens make, all of them."""
    tree: exp.Expression = _parse(tokens, text, Esl.Parser._parse_expression)
    return tree


def parse_type(tokens: list[Token], text: str) -> exp.DataType:
    """The data type that the tokens make, all of them; one that columns of streams and tables can have."""
    tree = _parse(tokens, text, lambda parser: parser._parse_types(check_func=False))
    if any(one.text == "(" and other.text == ")" for one, other in pairwise(tokens)):
        raise UnexpectedToken("a number is missing", (tokens[0].start, tokens[-1].end + 1))
    if not isinstance(tree, exp.DataType) or not _is_column_type(tree):
        raise UnexpectedToken("unknown type", (tokens[0].start, tokens[-1].end + 1))
    # By way of Spark's name, so that two spellings of a type are one type: DATETIME is TIMESTAMP.
    return exp.DataType.build(tree.sql(dialect=Esl), dialect=Esl)


def _is_column_type(type_: exp.DataType) -> bool:
    return type_.this in COLUMN_TYPES and all(
        _is_column_type(t) for t in type_.find_all(exp.DataType) if t is not type_
    )


def _parse(tokens: list[Token], text: str, method: Any) -> Any:
    trees = Esl.Parser()._parse(method, tokens, text)
    if not trees or trees[0] is None:
        at = tokens[0]
        raise UnexpectedToken(f"unexpected '{at.text}'", (at.start, at.end + 1))
    tree = trees[0]
    if isinstance(tree, exp.Expr):
        check_brackets(tokens)
        check_arguments(tree, tokens)
        check_words(tree, tokens, _again(tree, tokens))
    return tree


def _again(tree: exp.Expr, tokens: list[Token]) -> list[Token]:
    """The words of a tree; sqlglot reads types that it cannot write, as REAL(x)."""
    try:
        return tokenize(tree.sql(dialect=Esl))
    except (ValueError, TokenError):
        span = (tokens[0].start, tokens[-1].end + 1)
        raise NotUnderstood("this is not understood", span) from None
