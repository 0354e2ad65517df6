"""The colours of ESL."""

from __future__ import annotations

import pytest
from pygments.token import Comment, Error, Generic, Keyword, Name, Number, String

from millstream.cli.lexer import KEYWORDS, EslLexer


def kinds(text: str) -> list[tuple[object, str]]:
    """The pieces that a reader sees."""
    return [(kind, piece) for kind, piece in EslLexer(ensurenl=False).get_tokens(text) if piece.strip()]


@pytest.mark.parametrize(
    "word", ["STREAM", "SINK", "SLACK", "IDLE", "KEEP", "PUNCTUATED", "SOURCE", "OPTIONS", "SLIDE"]
)
def test_words_of_esl_are_keywords(word: str) -> None:
    assert kinds(word) == [(Keyword, word)]
    assert kinds(word.lower()) == [(Keyword, word.lower())]


@pytest.mark.parametrize("word", KEYWORDS)
def test_a_keyword_inside_a_name_is_none(word: str) -> None:
    assert kinds(f"my_{word.lower()}_x") == [(Name, f"my_{word.lower()}_x")]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("'it''s'", String.Single),
        ("'never closed", String.Single),
        ("-- a note", Comment.Single),
        ("/* a\nnote */", Comment.Multiline),
        ("/* never closed", Comment.Multiline),
        ('"select"', Name.Variable),
        ("`from`", Name.Variable),
        ("TIMESTAMP", Keyword.Type),
        ("1.5e3", Number),
        ("\\timing", Generic.Strong),
    ],
)
def test_one_piece(text: str, kind: object) -> None:
    assert kinds(text) == [(kind, text)]


def test_functions_are_known_by_their_bracket() -> None:
    assert kinds("count(x)")[0] == (Name.Function, "count")
    assert kinds("left(x, 1)")[0] == (Name.Function, "left")
    assert kinds("count")[0] == (Name, "count")
    assert kinds("DECIMAL(10,2)")[0] == (Keyword.Type, "DECIMAL")
    assert kinds("LEFT JOIN")[0] == (Keyword, "LEFT")


def test_a_column_after_a_dot_is_a_name() -> None:
    assert kinds("s.source")[-1] == (Name, "source")


def test_nothing_is_lost_or_an_error() -> None:
    text = """CREATE STREAM s (id INT, price DECIMAL(10,2)) ORDER BY t SLACK 5 SECONDS SOURCE 'csv:d/*.csv';
    SELECT max(len) [RANGE 5 MINUTES, SLIDE 1 MINUTE, WA ts] FROM s WHERE a <> b AND c >= .5 -- end
    """
    pieces = list(EslLexer(stripnl=False, ensurenl=False).get_tokens(text))
    assert "".join(piece for _, piece in pieces) == text
    assert all(kind is not Error for kind, _ in pieces)
