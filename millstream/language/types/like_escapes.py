"""Characters that escape others in patterns of LIKE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from millstream.expressions.functions.patterns import like_regex


def escape_mistakes(
    word: str, escape: exp.Expr | None, patterns: Sequence[exp.Expr]
) -> Iterator[tuple[exp.Expr, str, str]]:
    """The patterns in which what is escaped has no other meaning, what is wrong, and what to write instead.

    >>> of = [exp.Literal.string("a!%"), exp.Literal.string("a!b")]
    >>> [mistake[1:] for mistake in escape_mistakes("LIKE", exp.Literal.string("!"), of)]
    [("! stands before what has no other meaning in the pattern 'a!b' of LIKE", '! can stand before %, _ and !')]
    """
    sign = "\\" if escape is None else _text(escape)
    if sign is None:
        return
    if escape is not None and len(sign) != 1:
        yield escape, f"'{sign}' is not one character, as the escape character of {word} is", "as in ESCAPE '!'"
        return
    for pattern in patterns:
        text = _text(pattern)
        if text is not None and like_regex(text, sign) is None:
            message = f"{sign} stands before what has no other meaning in the pattern '{text}' of {word}"
            yield pattern, message, f"{sign} can stand before %, _ and {sign}"


def _text(node: exp.Expr) -> str | None:
    inner = node.unnest()
    return str(inner.name) if isinstance(inner, exp.Literal) and inner.is_string else None
