"""Statements with words put in, left out, exchanged and doubled; and what a bound statement means, to compare them."""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from millstream.catalog.catalog import Catalog
from millstream.errors import EslError
from millstream.language.binder import bind
from millstream.language.parse.dialect import Esl, tokenize
from millstream.language.parser import parse
from millstream.language.trial.dry_run import dry_run
from tests.docs.test_pages import PAGES, blocks, esl
from tests.language import auctions

ROOT = Path(__file__).parents[2]
_TEXT = """
    banana x 1 2 0 -1 'a' '' NULL TRUE ( ) [ ] , ; . * + - = <> < >= || :: => -> | & ~ ! : ? @ $ # % ALL DISTINCT AS
    ASC DESC NULLS FIRST LAST ON USING NATURAL CROSS LEFT RIGHT FULL OUTER INNER SEMI ANTI LATERAL WITH ROLLUP CUBE
    GROUPING SETS TOTALS TIES ONLY PERCENT TOP FETCH OFFSET LIMIT BY FILL MATERIALIZED RECURSIVE UNION INTERSECT
    EXCEPT MINUS MERGE ORDERED NAME CORRESPONDING WHERE HAVING QUALIFY GROUP ORDER SORT CLUSTER DISTRIBUTE WINDOW OVER
    PARTITION RANGE ROWS GROUPS UNBOUNDED PRECEDING FOLLOWING CURRENT ROW EXCLUDE SLIDE WA PA RATTR SATTR ORIGIN
    ACTIVE EXPIRATION EMIT EVERY CHANGE WALL FILTER WITHIN IGNORE RESPECT FOR UPDATE TABLE TABLESAMPLE SAMPLE PIVOT
    UNPIVOT UNNEST VALUES VERSION OF SYSTEM_TIME AT TIME ZONE COLLATE LIKE ILIKE RLIKE GLOB ESCAPE SIMILAR TO BETWEEN
    SYMMETRIC IS NOT IN ANY SOME EXISTS AND OR XOR DIV CASE WHEN THEN ELSE END CAST TRY_CAST EXTRACT INTERVAL MINUTES
    SECOND DAY DATE TIMESTAMP ARRAY STRUCT MAP INT STRING REPLACE RENAME IF SET SELECT FROM JOIN CREATE STREAM SINK
    QUERY INSERT INTO SOURCE OPTIONS SLACK IDLE AFTER KEEP PUNCTUATED EXPLAIN WHY SHOW DESCRIBE DROP COMMENT DEFAULT
    BAD FILE REJECT STOP SINCE UNTIL START EARLIEST NOW GB REGISTER UNREGISTER INVOKE REGISTRATIONS
    PRIMARY KEY UNIQUE CHECK CONSTRAINT UNSIGNED FORMAT HINT STRAIGHT_JOIN GLOBAL ASOF PREWHERE FINAL SETTINGS INDEXED
    FORCE USE PROCEDURE OUTFILE LOCK SHARE NOWAIT SKIP LOCKED WINDOW_START count(*) max(x) upper('a') {}
    /*+_BROADCAST(t)_*/ "q" `b` 1.5 2L 5e3 0x1F X'1F' r'a' WITH_x_AS_(SELECT_1)
"""
WORDS = _TEXT.split()
CLAUSES = frozenset(
    [
        *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET", "WINDOW", "OVER", "FILTER"),
        *("UNION", "EMIT EVERY", "EMIT ON CHANGE", "SOURCE", "OPTIONS", "SLACK", "IDLE", "KEEP", "TO", "WITH", "LEFT"),
        *("SINCE", "UNTIL", "START AT"),
        *("PARTITION BY", "RANGE", "ROWS", "SLIDE", "WA", "PA", "WITHIN GROUP", "SET", "VALUES", "ON", "USING", "AND"),
        *("JOIN", "[", ","),
    ]
)


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


# -- what there is to change ---------------------------------------------------------------------------------


@cache
def corpus(whole: bool = True) -> tuple[Case, ...]:
    """The statements of the pages and the examples, and of the tests if it is to be the whole."""
    cases: dict[str, Case] = {}
    house = auctions.catalog()
    for script in [*_scripts(), *(_scripts_of_tests() if whole else ())]:
        for first in (Catalog(), house):
            try:
                found = list(_cases(script, snapshot(first)))
            except EslError:
                continue
            for case in found:
                cases.setdefault(" ".join(case.text.split()), case)
            break
    return tuple(cases.values())


def _cases(script: str, catalog: Catalog) -> Iterator[Case]:
    for statement in parse(script):
        before = snapshot(catalog)
        dry_run(bind(statement, catalog), catalog)
        yield Case(statement.own_text, before)


def _scripts() -> Iterator[str]:
    for name in PAGES:
        yield "\n".join(text for block in blocks(name) for text in esl(block))
    yield auctions.SCRIPT
    for path in sorted((ROOT / "examples").rglob("*.esl")):
        yield path.read_text(encoding="utf-8")


def _scripts_of_tests() -> Iterator[str]:
    for folder in ("language", "e2e", "windows", "spark", "examples", "operators", "aggregates"):
        for path in sorted((ROOT / "tests" / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and _may_be_script(node.value):
                    yield node.value


def _may_be_script(text: str) -> bool:
    return text.lstrip().upper().startswith(("CREATE", "SELECT", "INSERT", "FROM", "WITH"))


# -- changing ------------------------------------------------------------------------------------------------


class Mutator:
    """Changes statements; the same seed changes them in the same way."""

    def __init__(self, seed: int, cases: Sequence[Case]) -> None:
        self.chance = random.Random(seed)
        self.cases = cases

    def mutated(self, case: Case) -> str:
        """The text of a statement with one change in it, sometimes two."""
        words = spelt(case.text)
        changes = [
            *(self._insert, self._insert, self._delete, self._swap, self._double, self._replace),
            *(self._drop_clause, self._move_clause, self._graft),
        ]
        for _ in range(1 if self.chance.random() < 0.8 else 2):
            change = self.chance.choice(changes)
            words = change(words) or words
        return " ".join(words)

    def _word(self) -> str:
        if self.chance.random() < 0.7:
            return self.chance.choice(WORDS).replace("_x_AS_", " x AS ").replace("_BROADCAST", " BROADCAST")
        return self.chance.choice(spelt(self.chance.choice(self.cases).text))

    def _insert(self, words: list[str]) -> list[str]:
        place = self.chance.randint(0, len(words))
        more = [self._word() for _ in range(self.chance.choice([1, 1, 1, 2, 3]))]
        return [*words[:place], *more, *words[place:]]

    def _delete(self, words: list[str]) -> list[str]:
        place = self.chance.randrange(len(words))
        return words[:place] + words[place + self.chance.choice([1, 1, 1, 2, 3]) :]

    def _swap(self, words: list[str]) -> list[str]:
        one = self.chance.randrange(len(words))
        other = (one + 1) % len(words) if self.chance.random() < 0.6 else self.chance.randrange(len(words))
        words = list(words)
        words[one], words[other] = words[other], words[one]
        return words

    def _double(self, words: list[str]) -> list[str]:
        place = self.chance.randrange(len(words))
        return [*words[: place + 1], *words[place:]]

    def _replace(self, words: list[str]) -> list[str]:
        place = self.chance.randrange(len(words))
        return [*words[:place], self._word(), *words[place + 1 :]]

    def _clauses(self, words: list[str]) -> list[tuple[int, int]]:
        starts = [i for i, word in enumerate(words) if word.upper() in CLAUSES]
        return list(zip(starts, [*starts[1:], len(words)][: len(starts)], strict=True))

    def _drop_clause(self, words: list[str]) -> list[str] | None:
        clauses = self._clauses(words)
        if not clauses:
            return None
        start, end = self.chance.choice(clauses)
        return words[:start] + words[end:]

    def _move_clause(self, words: list[str]) -> list[str] | None:
        clauses = self._clauses(words)
        if not clauses:
            return None
        start, end = self.chance.choice(clauses)
        part = words[start:end]
        rest = words if self.chance.random() < 0.4 else words[:start] + words[end:]  # or doubled
        place = self.chance.randint(0, len(rest))
        return [*rest[:place], *part, *rest[place:]]

    def _graft(self, words: list[str]) -> list[str] | None:
        other = spelt(self.chance.choice(self.cases).text)
        clauses = self._clauses(other)
        if not clauses:
            return None
        start, end = self.chance.choice(clauses)
        place = self.chance.choice([*(s for s, _ in self._clauses(words)), len(words)])
        return [*words[:place], *other[start:end], *words[place:]]


@cache
def _spelt(text: str) -> tuple[str, ...]:
    return tuple(text[token.start : token.end + 1] for token in tokenize(text))


def spelt(text: str) -> list[str]:
    """The words of a text as they were written."""
    return list(_spelt(text))


# -- meaning -------------------------------------------------------------------------------------------------

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
        case list() | tuple() | set() | frozenset():
            return [meaning(part) for part in bound]
    if is_dataclass(bound) and not isinstance(bound, type):
        parts = {f.name: meaning(getattr(bound, f.name)) for f in fields(bound) if f.name not in _TOLD_ONLY}
        return type(bound).__name__, parts
    return type(bound).__name__, _inside(bound)


def _inside(thing: Any) -> object:
    own = {k: v for k, v in getattr(thing, "__dict__", {}).items() if not callable(v)}
    return {k: str(v) for k, v in own.items()} or str(thing)


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
    for token, before in zip(tokens, ["", *(t.text.upper() for t in tokens)], strict=False):
        if token.text.upper() not in {"WA", "RATTR"} and before not in {"WA", "RATTR"}:
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
            if keys[-1] in keys[:-1]:
                del kept[begun:]
            keys = [*keys, []] if word == "," else None
            begun = len(kept)
        elif keys is not None:
            keys[-1].append(word)
        kept.append(token)
        depth += (word == "(") - (word == ")")
        if word == "GROUP BY":
            keys, depth, begun = [[]], 0, len(kept)
    if keys is not None and keys[-1] in keys[:-1]:
        del kept[begun:]
    return kept


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
