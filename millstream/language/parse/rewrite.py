"""Texts of statements with a part exchanged: a name, a window, a clause; all else stays as it was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from millstream.language.parse import dialect
from millstream.language.parse.cursor import Cursor
from millstream.language.parse.statements import Span

Edit = tuple[Span, str]
"""Where something stands, and what is to stand there."""

_NAMED = ("STREAM", "TABLE", "SINK", "QUERY", "AGGREGATE")


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text with some parts exchanged.

    >>> edited("SELECT a FROM s", [((14, 15), "t"), ((7, 8), "b")])
    'SELECT b FROM t'
    """
    for (begin, end), new in sorted(edits, reverse=True):
        text = text[:begin] + new + text[end:]
    return text


def quoted(name: str) -> str:
    """A name as it can be written: in quotes, if it is not a plain word.

    >>> quoted("s"), quoted("my s"), quoted("select")
    ('s', '"my s"', '"select"')
    """
    plain = name.replace("_", "a").isalnum() and not name[:1].isdigit() and name.isascii()
    tokens = dialect.tokenize(name) if plain else []
    plain = len(tokens) == 1 and tokens[0].token_type is TokenType.VAR
    return name if plain else '"' + name.replace('"', '""') + '"'


def same_statement(one: str, other: str) -> bool:
    """Whether two texts are the same statement: spaces, comments and the case of words do not matter.

    >>> same_statement("SELECT a FROM s", "select  A from s -- again"), same_statement("SELECT 'a'", "SELECT 'A'")
    (True, False)
    """
    return _words(one) == _words(other)


def _words(text: str) -> list[tuple[bool, str]]:
    tokens = [token for token in dialect.tokenize(text) if token.token_type is not TokenType.SEMICOLON]
    exact = (TokenType.STRING, TokenType.RAW_STRING, TokenType.IDENTIFIER)
    return [
        (token.token_type is TokenType.STRING, token.text if token.token_type in exact else token.text.upper())
        for token in tokens
    ]


def name_edits(text: str, old: str, new: str) -> list[Edit]:
    """The places where a text may speak of a definition, each with another name: the reader decides if it is so."""
    written = quoted(new)
    return [
        ((token.start, token.end + 1), written)
        for token in dialect.tokenize(text)
        if token.text.lower() == old.lower() and not _is_value(token)
    ]


def own_name_edit(text: str, new: str) -> list[Edit]:
    """The place of the name that a CREATE statement gives; none in others, as INSERT INTO."""
    cursor = Cursor(dialect.tokenize(text), text)
    if not cursor.take("CREATE"):
        return []
    while not cursor.at_end and not any(cursor.take(kind) for kind in _NAMED):
        cursor.index += 1
    cursor.take("IF", "NOT", "EXISTS")
    name = cursor.name("the definition")
    return [(name.span, quoted(new))]


def with_window(text: str, window: str) -> tuple[str, int]:
    """A text with another window in brackets wherever it has one, and how many windows it has, each counted once."""
    tokens = dialect.tokenize(text)
    found: list[Span] = []
    for place, token in enumerate(tokens[:-1]):
        if token.text == "[" and tokens[place + 1].text.upper() in dialect.WINDOW_WORDS:
            depth, end = 0, place
            for end in range(place, len(tokens)):
                depth += (tokens[end].text == "[") - (tokens[end].text == "]")
                if depth == 0:
                    break
            found.append((token.start, tokens[end].end + 1))
    different = {tuple(t.text.upper() for t in dialect.tokenize(text[slice(*span)])) for span in found}
    return edited(text, [(span, window) for span in found]), len(different)


def with_clauses(text: str, spans: Mapping[str, Span], clauses: Mapping[str, str | None]) -> str:
    """The text of a CREATE STREAM with some clauses exchanged, added, or left out where there is None."""
    edits = [(spans[clause], written or "") for clause, written in clauses.items() if clause in spans]
    added = [written for clause, written in clauses.items() if clause not in spans and written is not None]
    return " ".join([edited(text, edits).rstrip().rstrip(";").rstrip(), *added])


def _is_value(token: Token) -> bool:
    return token.token_type in {TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER}
