"""What a bound statement means, and what two texts say that is not the same."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from millstream.catalog.catalog import Catalog
from millstream.errors import EslError
from millstream.language.binder import bind
from millstream.language.parse.dialect import Esl, tokenize
from millstream.language.parse.statements import Statement
from millstream.language.parser import parse
from millstream.language.trial.dry_run import dry_run


@dataclass(frozen=True)
class Case:
    """A statement that binds, and the catalog that it binds to."""

    text: str
    catalog: Catalog


def learnt(text: str, catalog: Catalog) -> list[object]:
    """What the statements of a text mean, in a catalog of their own."""
    catalog = snapshot(catalog)
    found = []
    for statement in parse(text):
        bound = bind(statement, catalog)
        dry_run(bound, catalog)
        found.append(meaning(bound))
    return found


def snapshot(catalog: Catalog) -> Catalog:
    """A catalog with the same definitions."""
    made = Catalog()
    for definition in catalog:
        made.add(definition)
    return made


_TOLD_ONLY = frozenset(["text", "span", "warnings"])
"""The fields of bound statements that keep what was written, for people."""


def meaning(bound: object) -> object:
    """All that a bound statement says, in a form that can be compared; of what was written nothing is left in it."""
    match bound:
        case exp.Expr():
            return bound.sql(dialect=Esl)
        case str() | int() | float() | bool() | None:
            return bound
        case dict():
            return {str(k): meaning(v) for k, v in bound.items()}
        case list() | tuple():
            return [meaning(part) for part in bound]
        case set() | frozenset():
            return sorted(repr(meaning(part)) for part in bound)
        case pa.Table():
            return str(bound.schema), bound.to_pylist()
        case partial():
            return [meaning(part) for part in bound.args]
        case Statement():
            return ""  # what was written, to tell of it later
    if is_dataclass(bound) and not isinstance(bound, type):
        parts = {f.name: meaning(getattr(bound, f.name)) for f in fields(bound) if f.name not in _TOLD_ONLY}
        return type(bound).__name__, parts
    return type(bound).__name__, _inside(bound)


def _inside(thing: Any) -> object:
    """What an object without declared fields holds; what it has worked out for itself is left out."""
    if callable(thing):
        return getattr(thing, "__qualname__", "")
    own = {k: meaning(v) for k, v in getattr(thing, "__dict__", {}).items() if not callable(v)}
    text = str(thing)
    return own or (text if " at 0x" not in text else "")


def said(text: str) -> list[str]:
    """The words of a text that say something, each in one spelling."""
    tokens = _without_lists_of_exists(_without_doubled_keys(tokenize(text)))
    tokens = _without_time_of_windows(_without_what_is_known(tokens))
    words = [word for token in tokens for word in _said(token)]
    for row, rest in DEFAULTS.items():
        places = [i for i in range(len(words)) if tuple(words[i : i + len(row)]) == row]
        for place in reversed(places):
            words[place : place + len(row)] = rest
    return words


def _without_what_is_known(tokens: list[Token]) -> list[Token]:
    """ORDER BY in OVER can only name the time stamp, along which frames go anyway; CHAR(10) is a STRING."""
    kept: list[Token] = []
    over = False
    for place, token in enumerate(tokens):
        word = token.text.upper()
        if token.token_type is TokenType.NUMBER and [t.text.upper() for t in tokens[place - 2 : place - 1]] == ["CHAR"]:
            continue  # the length of a text is not looked at
        over = word in {"OVER", "WINDOW"} or (over and word not in {"FROM", ";"})
        before = [t.text.upper() for t in tokens[max(place - 1, 0) : place]]
        if not (over and (word == "ORDER BY" or before == ["ORDER BY"])):
            kept.append(token)
    return kept


def _without_time_of_windows(tokens: list[Token]) -> list[Token]:
    """WA can only name the time stamp, along which windows go anyway."""
    kept: list[Token] = []
    words = ["", *(token.text.upper() for token in tokens)]
    told = [word in {"WA", "RATTR"} and before in {"[", ","} for before, word in pairwise(words)]
    for token, names, named in zip(tokens, told, [False, *told], strict=False):
        if not (names or named):
            kept.append(token)
    return kept


def _without_doubled_keys(tokens: list[Token]) -> list[Token]:
    """A key that stands twice in GROUP BY groups no further."""
    kept: list[Token] = []
    keys: list[list[str]] | None = None  # those of the list at hand, the last of which may still grow
    depth, begun = 0, 0
    for token in tokens:
        word = token.text.upper()
        ends = depth == 0 and (word == "," or word in _BEHIND_KEYS)
        if keys is not None and ends:
            if _is_doubled(keys):
                del kept[begun:]
            keys = [*keys, []] if word == "," else None
            begun = len(kept)
        elif keys is not None:
            keys[-1].append(word)
        kept.append(token)
        depth += (word == "(") - (word == ")")
        if word == "GROUP BY":
            keys, depth, begun = [[]], 0, len(kept)
    if keys is not None and _is_doubled(keys):
        del kept[begun:]
    return kept


def _is_doubled(keys: list[list[str]]) -> bool:
    """Whether the last key stands there before, perhaps with or without the name of its input."""
    last = keys[-1]
    return any(key == last or key[-1:] == last or key == last[-1:] for key in keys[:-1])


_BEHIND_KEYS = {")", ";", "HAVING", "ORDER BY", "LIMIT", "UNION", "EMIT", "WHERE", "]", "}"}


def _without_lists_of_exists(tokens: list[Token]) -> list[Token]:
    """EXISTS asks whether there is a row, whatever its columns are."""
    kept: list[Token] = []
    depth: int | None = None
    for token in tokens:
        word = token.text.upper()
        if depth is not None and depth == 0 and word == "FROM":
            depth = None
        if depth is None:
            kept.append(token)
            if [t.text.upper() for t in kept[-3:]] == ["EXISTS", "(", "SELECT"]:
                depth = 0
        else:
            depth += (word == "(") - (word == ")")
    return kept


def _said(token: Token) -> list[str]:
    if token.token_type is TokenType.IDENTIFIER and token.text.isidentifier():
        return [token.text.upper()]  # "q" is q
    if token.token_type in {TokenType.STRING, TokenType.IDENTIFIER, TokenType.RAW_STRING}:
        return [token.text]
    return [SYNONYMS.get(w, w) for w in token.text.upper().split() if w not in EMPTY]


EMPTY = frozenset(["AS", "ASC", "INNER", "OUTER", ";"])
"""Words that say nothing where they are accepted."""

DEFAULTS = {
    ("SELECT", "ALL"): ("SELECT",),
    ("IF", "NOT", "EXISTS"): (),
    ("IF", "EXISTS"): (),
    ("OR", "REPLACE"): (),
    ("ON", "BAD", "FILE", "STOP"): (),
    ("IS", "NOT", "NULL"): ("NOT", "NULL"),
    ("NOT", "IS", "NULL"): ("NOT", "NULL"),
}
"""Words in a row that say what holds without them, and the words that say it too."""

ALIKE = (
    frozenset(
        ["WINDOW_START", "WINDOW_END", "EMITTED", "GROUP", "BY", ","]
    ),  # every window has its own: a key that changes nothing
    frozenset(["(", ")"]),  # CHAR(10), and brackets around what stands alone
    frozenset(["+"]),  # before a number
    frozenset(["."]),  # oldest().x is oldest() where the aggregate has one parameter
    frozenset([":"]),  # STRUCT<n INT> is STRUCT<n: INT>
    frozenset(["INTERVAL"]),  # SLACK INTERVAL 1 DAY is SLACK 1 DAY
    frozenset(["ROW"]),  # 5 ROW PRECEDING is 5 PRECEDING
    frozenset(["TIMESTAMP"]),  # START AT TIMESTAMP '2026-01-01' is START AT '2026-01-01'
    frozenset(["REJECT"]),  # AHEAD 1 HOUR REJECT is AHEAD 1 HOUR
    frozenset(["WINDOW"]),  # AGGREGATE f is WINDOW AGGREGATE f where there is no other f
    frozenset(["DATA", "=>"]),  # TUMBLE(DATA => TABLE s, ...) is TUMBLE(TABLE s, ...)
)
"""Words that change nothing where they can be left out."""

SYNONYMS = {"INTEGER": "INT", "REAL": "FLOAT", "==": "=", "!=": "<>"}
"""Words that say the same."""


def differing(one: str, other: str) -> list[str]:
    """The words that one of two texts has and the other has not, but for names that nothing refers to."""
    words = [Counter(said(text)) for text in (one, other)]
    more = (words[0] - words[1]) + (words[1] - words[0])
    names = {SYNONYMS.get(name.upper(), name.upper()) for text in (one, other) for name in names_given(text)}
    left = {word for word in more if word.upper() not in names}
    if "." in left:  # a column says the same without the name of the only table that has it
        left -= {name.upper() for text in (one, other) for name in (*tables_read(text), *names_in_bodies(text))}
    # GROUP BY need not repeat by what a window is parted: each part has windows of its own.
    left -= {n.upper() for n in keys_of_windows(one)} & {n.upper() for n in keys_of_windows(other)}
    return [] if any(left <= alike for alike in ALIKE) else sorted(left)


def tables_read(text: str) -> Iterator[str]:
    """The names behind FROM and JOIN."""
    for before, word in pairwise(spelt(text)):
        if before.upper() in {"FROM", "JOIN"}:
            yield word


def names_in_bodies(text: str) -> Iterator[str]:
    """The names that parameters can be called by in bodies, and the columns of oldest(): it may have but one."""
    words = [word.upper() for word in spelt(text)]
    yield from (after for before, after in pairwise(words) if before == "AGGREGATE")
    for place in range(len(words) - 4):
        if words[place : place + 4] == ["OLDEST", "(", ")", "."]:
            yield words[place + 4]


def keys_of_windows(text: str) -> Iterator[str]:
    """The single names behind PARTITION BY."""
    for before, word in pairwise(spelt(text)):
        if before.upper() == "PARTITION BY":
            yield word


def names_given(text: str) -> Iterator[str]:
    """The names that a text gives to columns and inputs."""
    for statement in parse(text):
        for tree in trees(statement):
            for node in tree.find_all(exp.Alias, exp.TableAlias):
                yield node.alias_or_name


def trees(part: object) -> Iterator[exp.Expr]:
    """The parsed expressions in a statement."""
    if isinstance(part, exp.Expr):
        yield part
    elif is_dataclass(part):
        for field in fields(part):
            yield from trees(getattr(part, field.name))
    elif isinstance(part, list | tuple | dict):
        for inside in part.values() if isinstance(part, dict) else part:
            yield from trees(inside)


class _Unasked(logging.Handler):
    """What sqlglot says to nobody would stand in the terminal of whoever wrote the statement."""

    def emit(self, record: logging.LogRecord) -> None:
        raise AssertionError(record.getMessage())


logging.getLogger("sqlglot").addHandler(_Unasked())


def outcome(text: str, case: Case, meant: list[object]) -> tuple[str, str]:
    """How a changed statement ends: refused, changed, same (by words that say the same), or in a way that is wrong."""
    try:
        found = learnt(text, case.catalog)
    except EslError as mistake:
        pointed = "^" in str(mistake) or not text.strip() or "password" in str(mistake)  # which is never shown
        clean = str(mistake).startswith("error in ") and pointed and "\nhelp: " in str(mistake)
        return ("refused", "") if clean else ("badly told", str(mistake))
    except TokenError as problem:
        return "crash", repr(problem)
    if found != meant:
        return "changed", ""
    if not found or not differing(text, case.text):
        return "same", ""
    return "ignored", f"{text}\nmeans the same as\n{case.text}"


@cache
def _spelt(text: str) -> tuple[str, ...]:
    return tuple(text[token.start : token.end + 1] for token in tokenize(text))


def spelt(text: str) -> list[str]:
    """The words of a text as they were written."""
    return list(_spelt(text))
