"""The colours of ESL: keywords, types, functions, texts."""

from __future__ import annotations

import re

from pygments.lexer import RegexLexer, words  # type: ignore[import-untyped]
from pygments.token import (  # type: ignore[import-untyped]
    Comment,
    Generic,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

from millstream.language.parse.window_functions import WINDOW_FUNCTIONS
from millstream.language.types import functions

STATEMENT_WORDS = (
    "ALTER", "CREATE", "DELETE", "DESCRIBE", "DROP", "EXPLAIN", "INSERT", "INVOKE", "REGISTER", "SELECT", "SET",
    "SHOW", "START", "STOP", "SUBSCRIBE", "UNREGISTER", "UPDATE", "WITH",
)  # fmt: skip
"""What a statement can begin with."""

STREAM_WORDS = (
    "AFTER", "AHEAD", "BAD", "FILE", "IDLE", "KEEP", "KEY", "OPTIONS", "PUNCTUATED", "QUERY", "REJECT", "RENAME",
    "REPLACE", "SINK", "SLACK", "SOURCE", "STARTING", "STOP", "STREAM", "TABLE", "TO", "VERSIONS", "VIEW",
)  # fmt: skip
"""The words of the definitions of streams, tables and sinks."""

WINDOW_WORDS = (
    "ACTIVE", "DESCRIPTOR", "EMIT", "EVERY", "EXPIRATION", "ORIGIN", "OVER", "PA", "PARTITION", "PRECEDING", "RANGE",
    "RATTR", "ROWS", "SATTR", "SLIDE", "UNBOUNDED", "WA", "WALL", *WINDOW_FUNCTIONS,
)  # fmt: skip
"""The words of windows and of emission."""

AGGREGATE_WORDS = ("AGGREGATE", "ALGEBRAIC", "EXPIRE", "INITIALIZE", "ITERATE", "TERMINATE")
"""The words of user-defined aggregates."""

SQL_WORDS = (
    "ALL", "AND", "ANTI", "AS", "ASC", "BETWEEN", "BY", "CASE", "CAST", "CROSS", "DESC", "DISTINCT", "ELSE", "END",
    "ESCAPE", "EXCEPT", "EXISTS", "FALSE", "FROM", "FULL", "GROUP", "HAVING", "IF", "ILIKE", "IN", "INNER",
    "INTERSECT", "INTERVAL", "INTO", "IS", "JOIN", "LEFT", "LIKE", "LIMIT", "MERGE", "NOT", "NULL", "NULLS", "OFFSET",
    "ON", "OR", "ORDER", "ORDERED", "OUTER", "RIGHT", "RLIKE", "SEMI", "THEN", "TRUE", "UNION", "USING", "VALUES",
    "WHEN", "WHERE",
)  # fmt: skip

TYPES = (
    "ARRAY", "BIGINT", "BINARY", "BOOLEAN", "CHAR", "DATE", "DECIMAL", "DOUBLE", "FLOAT", "INT", "INTEGER", "MAP",
    "REAL", "SMALLINT", "STRING", "STRUCT", "TIMESTAMP", "TINYINT", "VARCHAR",
)  # fmt: skip
"""The types of columns."""

KEYWORDS = tuple(sorted({*STATEMENT_WORDS, *STREAM_WORDS, *WINDOW_WORDS, *AGGREGATE_WORDS, *SQL_WORDS}))
"""All words of the language but for types and functions."""

COLOURS = {
    "pygments.comment": "italic ansibrightblack",
    "pygments.generic.strong": "bold",
    "pygments.keyword": "bold ansimagenta",
    "pygments.keyword.type": "nobold ansicyan",
    "pygments.literal.number": "ansicyan",
    "pygments.literal.string": "ansigreen",
    "pygments.name.function": "ansibrightblue",
    "pygments.name.variable": "ansiyellow",
}
"""The colours of the terminal's own palette, so that they can be read on dark and on light."""

# A word that is both, as LEFT or IF, is a function only where its bracket follows at once.
_NEVER_CALLED = {"AND", "EXISTS", "IN", "NOT", "OR", *TYPES}
_FUNCTIONS = sorted(n for n in functions.names() if n.upper() not in _NEVER_CALLED)


class EslLexer(RegexLexer):  # type: ignore[misc]
    """Splits ESL into coloured pieces. What is not finished, as an open quote, is coloured as if it were."""

    name = "ESL"
    aliases = ("esl",)
    filenames = ("*.esl",)
    flags = re.IGNORECASE
    tokens = {  # noqa: RUF012  (pygments' own class attribute)
        "root": [
            (r"\A\s*\\\S*", Generic.Strong),
            (r"\s+", Whitespace),
            (r"--[^\n]*", Comment.Single),
            (r"/\*(?:[^*]|\*(?!/))*(?:\*/)?", Comment.Multiline),
            (r"'(?:''|\\.|[^'\\])*'?", String.Single),
            (r"`[^`]*`?", Name.Variable),
            (r'"(?:""|[^"])*"?', Name.Variable),
            (r"(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\b", Number),
            (r"(?<=\.)[a-z_]\w*", Name),
            (words(_FUNCTIONS, prefix=r"\b", suffix=r"(?=\()"), Name.Function),
            (words(KEYWORDS, prefix=r"\b", suffix=r"\b"), Keyword),
            (words(TYPES, prefix=r"\b", suffix=r"\b"), Keyword.Type),
            (r"[a-z_]\w*", Name),
            (r"[-+*/<>=~!%^&|?:]+", Operator),
            (r"[;()\[\]{},.]", Punctuation),
        ]
    }
