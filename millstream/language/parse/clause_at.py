"""The clause that a place in a script belongs to, for mistakes that are found without it."""

from __future__ import annotations

from functools import lru_cache

from sqlglot.tokenizer_core import Token, TokenType

from millstream.language.parse import dialect

STATEMENT = "statement"
_CLAUSES = {
    **{word: word for word in ("SELECT", "FROM", "WHERE", "HAVING", "ON", "WINDOW")},
    "GROUP": "GROUP BY",
    "ORDER": "ORDER BY",
    "PUNCTUATED": "PUNCTUATED BY",
    "JOIN": "FROM",
    "CREATE": STATEMENT,
    "INSERT": STATEMENT,
}
_PARTS = ("INITIALIZE", "ITERATE", "TERMINATE", "EXPIRE")
"""The parts of a body of an aggregate; what is in them stands in braces."""

_TEXTS = (TokenType.STRING, TokenType.IDENTIFIER)


def clause_at(text: str, place: int) -> str:
    """The clause that a place belongs to.

    Within brackets it is that of the brackets, unless there is a SELECT in them.

    >>> script = "SELECT 1; SELECT a FROM s WHERE f(extract(DAY FROM ts)) > 1 AND x IN (SELECT g(y) FROM t) AND h(z)"
    >>> [clause_at(script, script.index(word)) for word in ("a FROM", "f(", "ts)", "g(", "h(")]
    ['SELECT', 'WHERE', 'WHERE', 'SELECT', 'WHERE']
    """
    clause, reads, braces = STATEMENT, True, 0
    outside: list[tuple[str, bool]] = []
    for token in _tokens(text):
        if token.start >= place:
            break
        word = "" if token.token_type in _TEXTS else token.text.upper().partition(" ")[0]
        if word == "(":
            outside.append((clause, reads))
            reads = False
        elif word == ")" and outside:
            clause, reads = outside.pop()
        elif word in {"{", "}"}:
            braces += 1 if word == "{" else -1
        elif braces:
            clause = word if word in _PARTS else clause
        elif word == ";":
            clause, reads, outside = STATEMENT, True, []
        elif word in _CLAUSES and (reads or word == "SELECT"):
            clause, reads = _CLAUSES[word], True
    return clause


@lru_cache(maxsize=1)
def _tokens(text: str) -> list[Token]:
    return dialect.tokenize(text)
