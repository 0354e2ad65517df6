"""A cursor over the tokens of one statement, with the small words that every clause is made of."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import NoReturn, TypeVar

from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import EslError, EslSyntaxError
from millstream.intervals import UNITS, TooLong, interval
from millstream.language.parse.checks.refused_words import NotUnderstood, UnexpectedToken
from millstream.language.parse.statements import Name, Span

T = TypeVar("T")


class Cursor:
    """Reads a statement token by token; what does not fit becomes an error that points at it."""

    def __init__(self, tokens: list[Token], text: str) -> None:
        self.tokens = tokens
        self.text = text
        self.index = 0
        self.clause = tokens[0].text.upper() if tokens else ""

    @property
    def current(self) -> Token | None:
        """The token under the cursor, None at the end."""
        return self.tokens[self.index] if self.index < len(self.tokens) else None

    @property
    def at_end(self) -> bool:
        """Whether every token has been read."""
        return self.index >= len(self.tokens)

    def peek(self, *words: str) -> bool:
        """Whether the next tokens are these words."""
        ahead = self.tokens[self.index : self.index + len(words)]
        return len(ahead) == len(words) and all(
            t.text.upper() == w and t.token_type not in QUOTED for t, w in zip(ahead, words, strict=True)
        )

    def take(self, *words: str) -> bool:
        """Read these words if they come next."""
        if not self.peek(*words):
            return False
        self.index += len(words)
        return True

    def expect(self, *words: str, hint: str = "") -> None:
        """Read these words, or say that they are missing."""
        if not self.take(*words):
            for number in range(len(words)):
                if not self.take(words[number]):
                    self.fail(f"expected {' '.join(words[number:])}", hint=hint)

    def name(self, what: str) -> Name:
        """Read a name; a quoted one may hold any character."""
        token = self.current
        if token is None or not (token.token_type is TokenType.IDENTIFIER or _is_name(token)):
            self.fail(f"expected the name of {what}", hint=_NAME)
        self.index += 1
        return Name(token.text, (token.start, token.end + 1))

    def last_name(self, what: str) -> Name:
        """Read a name that nothing follows."""
        found = self.name(what)
        if not self.at_end:
            self.fail(f"nothing more was expected after '{found}'", hint="names are separated by commas")
        return found

    def dotted_name(self, what: str) -> Name:
        """Read a name of one or more parts joined by dots."""
        first = self.name(what)
        text, end = first.text, first.span[1]
        while self.take("."):
            part = self.name(what)
            text, end = f"{text}.{part.text}", part.span[1]
        return Name(text, (first.span[0], end))

    def string(self, what: str, hint: str = "") -> Name:
        """Read a quoted string."""
        token = self.current
        if token is None or token.token_type is not TokenType.STRING:
            self.fail(f"expected {what} in single quotes", hint=hint)
        self.index += 1
        return Name(token.text, (token.start, token.end + 1))

    def interval(self) -> timedelta:
        """Read a length of time: `5 SECONDS`, `INTERVAL '1' MINUTE`, `'2 hours'`."""
        hint = "write a number and a unit, as 5 SECONDS or INTERVAL '1' MINUTE"
        said = self.take("INTERVAL")
        token = self.current
        if token is None or token.token_type not in {TokenType.NUMBER, TokenType.STRING}:
            self.fail("expected a length of time", hint=hint)
        self.index += 1
        words, last = token.text, token
        if " " not in words.strip():
            if token.token_type is TokenType.STRING and not said:
                self.index -= 1
                self.fail("expected INTERVAL", hint=hint)
            if self.current is None:
                self.fail("expected a unit of time", hint=hint)
            last = self.current
            words = f"{words} {last.text}"
            self.index += 1
        try:
            if self.take("TO"):
                if self.current is None:
                    self.fail("expected a unit of time behind TO", hint=hint)
                last = self.current
                words = f"{words} TO {last.text}"
                self.index += 1
                return _spanning(words)
            return interval(words)
        except TooLong:
            hint, span = "the longest is 10,000 years, that is 3652500 DAYS", (token.start, last.end + 1)
            self.fail(f"'{words}' is too long", hint=hint, span=span)
        except ValueError:
            units = ", ".join(f"{u}S" for u in UNITS)
            span = (token.start, last.end + 1)
            self.fail(f"'{words}' is not a length of time", hint=f"{hint}; units are {units}", span=span)

    def counts_rows(self) -> bool:
        """Whether a number of rows comes next, as `10 ROWS`."""
        after = self.tokens[self.index + 1 : self.index + 2]
        return bool(after) and after[0].text.upper() in {"ROW", "ROWS"} and not self.peek("INTERVAL")

    def rows(self, unit: bool = True) -> int:
        """Read a number of rows: `10 ROWS`, or `10`; without its `unit` where that has been said."""
        token = self.current
        if token is None or not token.text.isdecimal():
            self.fail("expected a number of rows", hint="write it as 10 ROWS")
        self.index += 1
        if unit and not self.take("ROWS"):
            self.take("ROW")
        return int(token.text)

    def bracketed(self, what: str, hint: str = "") -> list[Token]:
        """Read a parenthesised part and give the tokens between the brackets."""
        opening = self.current
        if opening is None or opening.token_type is not TokenType.L_PAREN:
            self.fail(f"expected {what} in parentheses", hint=hint or "write ( ... )")
        self.index += 1
        start = self.index
        depth = 1
        while not self.at_end:
            token = self.tokens[self.index]
            depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
            self.index += 1
            if depth == 0:
                return self.tokens[start : self.index - 1]
        span = (opening.start, opening.end + 1)
        self.fail("this parenthesis is never closed", hint="add the missing ')'", span=span)

    def rest(self) -> list[Token]:
        """Read everything that is left."""
        tokens, self.index = self.tokens[self.index :], len(self.tokens)
        return tokens

    def parsed(self, parse: Callable[[list[Token], str], T], tokens: list[Token], what: str) -> T:
        """Let sqlglot read some tokens; its complaint becomes an error of ours."""
        if not tokens:
            self.fail(f"expected {what}", hint=_MISSING.get(what, "write it behind this"))
        try:
            return parse(tokens, self.text)
        except NotUnderstood as problem:
            clause, hint = problem.clause or self.clause, problem.hint
            raise EslSyntaxError(problem.message, self.text, problem.span, clause=clause, hint=hint) from None
        except UnexpectedToken as problem:
            raise self.syntax_error(str(problem), problem.span) from None
        except ParseError as problem:
            raise self.syntax_error(str(problem), (tokens[0].start, tokens[-1].end + 1)) from None

    def syntax_error(self, message: str, span: Span) -> EslError:
        """An error for what sqlglot could not read, in words for users."""
        found = self.text[slice(*span)]
        if message.startswith(("Required", "Invalid expression")):
            message = f"unexpected '{found}'" if found else "the statement ends too early"
        elif message.startswith("Expected table name"):
            message = "expected the name of a stream or a table"
        elif message.startswith("Expect"):
            message = f"{message[0].lower()}{message[1:]} near '{found}'"
        hint = _HINTS.get(found.upper(), "check the words just before it: a comma, a quote or a bracket may be missing")
        return EslSyntaxError(message, self.text, span, clause=self.clause, hint=hint)

    def fail(self, message: str, hint: str = "", span: Span | None = None) -> NoReturn:
        """Raise a syntax error at the cursor."""
        token = self.current
        if span is None:
            last = self.tokens[-1].end + 1 if self.tokens else 0
            after = self.text[last:].lstrip()[:1]
            if token is None and after in set(_CLOSING):  # a part of a statement
                last = self.text.index(after, last)
                message = f"{message}, found '{after}'"
            else:
                message = f"{message}, found '{token.text}'" if token else f"{message}, but the statement ends here"
            span = (token.start, token.end + 1) if token else (last, last + 1)
        raise EslSyntaxError(message, self.text, span, clause=self.clause, hint=hint)


_NAME = "a name is a word, or stands in double quotes; in single quotes stands text"
_MISSING = {"a SELECT": "write SELECT a, b FROM s WHERE a > 1"}
_CLOSING = (")", "]", "}", ",")
_HINTS = {"TO": "a sink is written to with INSERT INTO sink SELECT ...", "==": "equality is written with one ="}


def _spanning(words: str) -> timedelta:
    """`20:10.5 MINUTE TO SECOND`."""
    numbers, first, _, last = words.split()
    names = [u for u in UNITS if u in {"SECOND", "MINUTE", "HOUR", "DAY"}][::-1]
    units = names[names.index(first.upper()) : names.index(last.upper()) + 1]
    parts = zip(numbers.split(":"), units, strict=True)
    return sum((interval(f"{number} {unit}") for number, unit in parts), timedelta(0))


QUOTED = frozenset(
    [
        *(TokenType.STRING, TokenType.RAW_STRING, TokenType.NATIONAL_STRING, TokenType.HEX_STRING),
        *(TokenType.BIT_STRING, TokenType.BYTE_STRING, TokenType.UNICODE_STRING, TokenType.HEREDOC_STRING),
        TokenType.IDENTIFIER,
    ]
)
"""What stands in quotes is no word of the language."""


def _is_name(token: Token) -> bool:
    plain = token.text.replace("_", "a").replace("$", "a").isalnum() and not token.text[:1].isdigit()
    return plain and token.token_type not in QUOTED


def tokens_span(tokens: list[Token]) -> Span:
    """Where some tokens stand."""
    return (tokens[0].start, tokens[-1].end + 1)


def split(tokens: list[Token], separator: TokenType, types: bool = False) -> list[list[Token]]:
    """Cut tokens at a separator that stands outside all brackets; in types < and > are brackets too."""
    parts: list[list[Token]] = [[]]
    depth = angles = 0
    for token in tokens:
        depth += (token.token_type in _DEEPER) - (token.token_type in _SHALLOWER)
        if types and not depth:  # between round brackets they compare
            angles += (token.token_type is TokenType.LT) - (token.token_type is TokenType.GT)
        if token.token_type is separator and not depth and not angles:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


_DEEPER = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_SHALLOWER = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
