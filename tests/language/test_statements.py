"""The statements that the fuzzer changes most are all there are, with all their clauses, and bind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import TypeVar

import pytest

from millstream.catalog.keep import Keep
from millstream.catalog.moment import At
from millstream.language.parse.changes import CHANGEABLE, KINDS
from millstream.language.parse.standing.registration_statements import Written
from millstream.language.parse.statements import (
    AlterStream,
    CreateStream,
    Drop,
    Rename,
    Show,
    ShowVersions,
    Statement,
)
from millstream.language.parser import DROPPED, SHOWN, parse
from tests.language.meanings import Case, learnt
from tests.language.mutations import STATEMENTS, statements_of_the_language

PARSED = parse(STATEMENTS.read_text(encoding="utf-8"))
NOT_YET = {("CreateStreamAs", "keep")}
T = TypeVar("T")


def kinds(of: type[Statement] = Statement) -> Iterator[type[Statement]]:
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


def written(kind: type[T]) -> list[T]:
    """What of a kind is in the file: statements, and the rows in them."""
    parts = [part for statement in PARSED for part in (statement, *getattr(statement, "rows", ()))]
    return [part for part in parts if isinstance(part, kind)]


def test_each_binds_to_what_those_before_it_leave() -> None:
    assert len(statements_of_the_language()) == len(PARSED)


@pytest.mark.parametrize("case", statements_of_the_language(), ids=lambda case: case.text[:60])
def test_what_is_said_twice_means_the_same(case: Case) -> None:
    """Or no word that is passed over would ever be noticed."""
    assert learnt(case.text, case.catalog) == learnt(case.text, case.catalog)


@pytest.mark.parametrize("kind", [*kinds(), Written], ids=lambda kind: kind.__name__)
def test_every_clause_of_a_statement_is_there(kind: type[Statement | Written]) -> None:
    found = written(kind)
    assert found
    for field in fields(kind):
        if (kind.__name__, field.name) in NOT_YET:
            continue
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        values = [getattr(one, field.name) for one in found]
        assert any(value not in (default, None, ()) for value in values), f"no {kind.__name__} has {field.name}"


def test_every_choice_is_there() -> None:
    assert {s.what for s in written(Show)} == {*SHOWN}
    assert {s.kind for s in written(Drop)} == {*DROPPED, "WINDOW AGGREGATE"}
    assert {s.kind for s in written(ShowVersions)} == {*KINDS}
    assert {s.kind for s in written(Rename)} == {*KINDS} - {"VIEW"}
    assert {clause for s in written(AlterStream) for clause in s.clauses} == {*CHANGEABLE}
    streams = written(CreateStream)
    assert {s.ahead.waits for s in streams if s.ahead} == {True, False}
    kept = [s.keep for s in streams if s.keep]
    assert any(k.length for k in kept)
    assert any(k.size for k in kept)
    assert Keep() in kept
    starts = [start for s in PARSED if (start := getattr(s, "start", None))]
    assert {start.moment.at for start in starts} == {*At}
