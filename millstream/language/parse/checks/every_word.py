"""Every word of a text is in the tree that sqlglot has made of it, or the text is refused.

sqlglot passes over words that it has no use for. So the tree is written out again, and each word that was given must be
among those written, or among those that are known to say the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import zip_longest

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millstream.language.parse.checks.refused_words import NotUnderstood
from millstream.language.parse.nodes import SINCE, EslWindow

NOISE = frozenset(["AS", "ASC", "INNER", "OUTER", "BOTH", "(", ")", "."])
"""Words that change nothing where sqlglot lets them stand: INNER JOIN, trim(BOTH FROM x)."""

TEXTS = frozenset(["CHAR", "VARCHAR", "CHARACTER", "VARYING", "NCHAR", "NVARCHAR"])
"""Types that are STRING under another name: the length in CHAR(10) cuts nothing and fills nothing."""

SAID_OTHERWISE: Mapping[str, tuple[str, ...]] = {
    "==": ("=",),
    "!=": ("<>",),
    "<=>": ("DISTINCT",),
    "!": ("NOT",),
    "+": ("POSITIVE",),
    "::": ("CAST", "TRY_CAST"),
    ",": ("JOIN",),
    "SUBSTR": ("SUBSTRING",),
    "POSITION": ("LOCATE",),
    "TRIM": ("LTRIM", "RTRIM"),
    "LEADING": ("LTRIM",),
    "TRAILING": ("RTRIM",),
    **dict.fromkeys(["IN", "FOR", "FROM"], (",",)),  # substring(x FROM 1 FOR 2), position(x IN y), trim(x FROM y)
    "FROM": (",", "LTRIM", "RTRIM", "TRIM"),
    "EXCLUDE": ("EXCEPT",),
    "ISNULL": ("NULL",),
    "NOTNULL": ("NULL",),
    "UNKNOWN": ("NULL",),
    "SYMMETRIC": ("OR",),
    "SOME": ("ANY",),
    "RLIKE": ("REGEXP",),
    "REGEXP": ("RLIKE",),
    "CHARACTER": ("STRING",),
    "VARYING": ("STRING",),
    "DEC": ("DECIMAL",),
    "NUMERIC": ("DECIMAL",),
    "INTEGER": ("INT",),
    "REAL": ("FLOAT",),
    "TEXT": ("STRING",),
    "VARCHAR": ("STRING",),
    "CHAR": ("STRING",),
    "LONG": ("BIGINT",),
    "SHORT": ("SMALLINT",),
    "BYTE": ("TINYINT",),
    "BOOL": ("BOOLEAN",),
    "PRECISION": ("DOUBLE",),
    **dict.fromkeys(["DATETIME", "TIMESTAMPTZ", "TIMESTAMP_LTZ"], ("TIMESTAMP",)),
}
"""Words that come out as others."""


def check_words(tree: exp.Expr, tokens: list[Token], again: list[Token]) -> None:
    """Refuse a text of which a word is missing in its tree; `again` are the words of the tree written out."""
    written = Counter(word for token in [*again, *_beyond_spark(tree)] for word in _words(token))
    _check_needed(tokens, written)
    _check_names(tokens)
    _check_items(tokens)
    for place, token in enumerate(tokens):
        before = [t.text.upper() for t in tokens[max(place - 2, 0) : place]]
        if before[:1] and before[0] in TEXTS and token.token_type is TokenType.NUMBER:
            continue
        if before[-1:] == ["SELECT"] and token.token_type is TokenType.ALL:
            continue
        for word in _words(token):
            if not _take(word, token, written):
                raise NotUnderstood(
                    f"'{token.text}' is not understood here",
                    (token.start, token.end + 1),
                    hint="leave it out; docs/language.md lists what is understood",
                )


def check_brackets(tokens: list[Token]) -> None:
    """Refuse a bracket that is never closed: sqlglot does not miss the end of some functions."""
    opened: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.L_PAREN:
            opened.append(token)
        elif token.token_type is TokenType.R_PAREN and opened:
            opened.pop()
    if opened:
        at = (opened[-1].start, opened[-1].end + 1)
        raise NotUnderstood("this bracket is never closed", at, hint="add the missing ')'")


def _check_names(tokens: list[Token]) -> None:
    """Refuse an AS behind which there is no name: sqlglot passes over it."""
    for token, after in zip_longest(tokens, tokens[1:]):
        if token.token_type is TokenType.ALIAS and (after is None or after.token_type in _NO_NAMES):
            at = (token.start, token.end + 1)
            raise NotUnderstood("a name is missing after AS", at, hint="write it, or leave AS out")


def _check_items(tokens: list[Token]) -> None:
    """Refuse a SELECT of nothing, which sqlglot takes."""
    words = [token for token in tokens if token.token_type not in {TokenType.ALL, TokenType.DISTINCT}]
    for token, after in zip_longest(words, words[1:]):
        if token.token_type is TokenType.SELECT and (after is None or after.token_type in _NO_NAMES):
            at = (token.start, token.end + 1)
            raise NotUnderstood("columns are missing after SELECT", at, hint="write them, or * for all of them")


_NO_NAMES = {
    *(TokenType.COMMA, TokenType.R_PAREN, TokenType.L_BRACKET, TokenType.R_BRACKET, TokenType.ALIAS, TokenType.FROM),
    *(TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.UNION),
    *(TokenType.JOIN, TokenType.ON, TokenType.USING, TokenType.OVER, TokenType.SEMICOLON),
}


def _check_needed(tokens: list[Token], written: Counter[str]) -> None:
    """Refuse what sqlglot makes up: it takes FROM s alone for SELECT * FROM s, and knows where a THEN is missing."""
    given = Counter(word for token in tokens for word in _words(token))
    for word, places in _NEEDED.items():
        if written[word] > given[word]:
            near = [token for token in tokens if token.text.upper() in places] or tokens
            at = (near[0].start, near[0].end + 1)
            article = "an" if word == "AND" else "a"
            raise NotUnderstood(f"{article} {word} is missing", at, hint=f"write {_EXAMPLES[word]}")


_NEEDED = {"SELECT": {"FROM", "TABLE", "VALUES"}, "THEN": {"CASE"}, "WHERE": {"FILTER"}, "AND": {"BETWEEN"}}
"""Words that must be given, and those near which they are missing."""

_EXAMPLES = {
    "SELECT": "SELECT * FROM s",
    "THEN": "CASE WHEN a > 1 THEN 'x' END",
    "WHERE": "count(*) FILTER (WHERE a > 1)",
    "AND": "a BETWEEN 1 AND 10",
}


def _beyond_spark(tree: exp.Expr) -> Iterator[Token]:
    """The words of clauses that come out in no text, as Spark's SQL has not got them."""
    for node in tree.find_all(EslWindow, exp.SetOperation, exp.Table):
        if isinstance(node, exp.Table):
            yield from node.meta.get(SINCE, ())
        elif isinstance(node, EslWindow) and node.args["form"] == "EMIT":
            yield from node.meta["tokens"]
        elif node.meta.get("ordered"):
            yield Token(TokenType.UNION, "MERGE ORDERED")


def _take(word: str, token: Token, written: Counter[str]) -> bool:
    """Cross out a word that has been written again."""
    for spelt in (word, *SAID_OTHERWISE.get(word, ())):
        if written[spelt]:
            written[spelt] -= 1
            return True
    if word in NOISE or token.token_type is TokenType.HINT:
        return True
    if token.token_type is TokenType.NUMBER:
        return any(count and _number(known) == _number(word) for known, count in written.items())
    if token.token_type is TokenType.STRING:  # INTERVAL '2 days', which comes out as INTERVAL '2' DAYS
        parts = Counter(token.text.upper().split())
        return len(parts) > 1 and all(written[part] >= count for part, count in parts.items())
    return False


def _words(token: Token) -> Iterator[str]:
    match token.token_type:
        case TokenType.STRING | TokenType.IDENTIFIER:
            yield token.text
        case TokenType.RAW_STRING:
            yield token.text.replace("\\", "\\\\").replace("'", "\\'")
        case _:
            yield from token.text.upper().split()


def _number(text: str) -> str:
    """`.5` is two tokens to sqlglot, and 0.5 to Spark."""
    return text.removeprefix("0.").upper()
