"""Statements with words put in, left out, exchanged and doubled."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from millstream.catalog.catalog import Catalog
from millstream.errors import EslError
from millstream.language.binder import bind
from millstream.language.parser import parse
from millstream.language.trial.dry_run import dry_run
from tests.docs.test_pages import PAGES, blocks, esl
from tests.language import auctions
from tests.language.meanings import Case, snapshot, spelt

ROOT = Path(__file__).parents[2]
STATEMENTS = Path(__file__).with_name("statements.esl")
"""Every statement with every clause."""

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
    BAD FILE REJECT STOP SINCE UNTIL START EARLIEST NOW GB REGISTER UNREGISTER INVOKE REGISTRATIONS VIEW SUBSCRIBE
    ALTER STARTING AHEAD WAIT VERSIONS SHARING DELETE QUERIES STREAMS GENERATED ALWAYS WHY ANALYZE
    PRIMARY KEY UNIQUE CHECK CONSTRAINT UNSIGNED FORMAT HINT STRAIGHT_JOIN GLOBAL ASOF PREWHERE FINAL SETTINGS INDEXED
    FORCE USE PROCEDURE OUTFILE LOCK SHARE NOWAIT SKIP LOCKED WINDOW_START count(*) max(x) upper('a') {}
    "q" `b` 1.5 2L 5e3 0x1F X'1F' r'a'
"""
WORDS = [
    *_TEXT.split(),
    *("WITH x AS (SELECT 1)", "/*+ BROADCAST(t) */", "OR REPLACE", "IF EXISTS", "IF NOT EXISTS", "STARTING NOW"),
    *("START AT NOW", "KEEP ALL", "ON BAD FILE STOP", "AFTER '1.2'", "SINCE LAST", "GENERATED ALWAYS AS (1)"),
]
CLAUSES = frozenset(
    [
        *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET", "WINDOW", "OVER", "FILTER"),
        *("UNION", "EMIT EVERY", "EMIT ON CHANGE", "SOURCE", "OPTIONS", "SLACK", "IDLE", "KEEP", "TO", "WITH", "LEFT"),
        *(
            "SINCE",
            "UNTIL",
            "START AT",
            "START",
            "KEY",
            "AFTER",
            "AHEAD",
            "PUNCTUATED",
            "RENAME",
            "STARTING",
            "OR",
            "IF",
        ),
        *("PARTITION BY", "RANGE", "ROWS", "SLIDE", "WA", "PA", "WITHIN GROUP", "SET", "VALUES", "ON", "USING", "AND"),
        *("JOIN", "[", ","),
    ]
)


# -- what there is to change ---------------------------------------------------------------------------------


@cache
def statements_of_the_language() -> tuple[Case, ...]:
    """Each statement with each clause, after those before it."""
    return tuple(_cases(STATEMENTS.read_text(encoding="utf-8"), Catalog()))


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
            *(self._drop_clause, self._move_clause, self._graft, self._exchange),
        ]
        for _ in range(1 if self.chance.random() < 0.8 else 2):
            before = words
            while words == before:
                words = self.chance.choice(changes)(words) or words
        return " ".join(words)

    def _word(self) -> str:
        if self.chance.random() < 0.7:
            return self.chance.choice(WORDS)
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

    def _exchange(self, words: list[str]) -> list[str] | None:
        """Put a word where one of its kind stands: a number for a number, a name for a name."""
        place = self.chance.randrange(len(words))
        kind = _kind(words[place])
        others = [word for word in spelt(self.chance.choice(self.cases).text) if _kind(word) == kind]
        return [*words[:place], self.chance.choice(others), *words[place + 1 :]] if others else None

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


def _kind(word: str) -> str:
    return "number" if word[0].isdigit() else "name" if word.isidentifier() else word[0]
