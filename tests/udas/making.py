"""Aggregates from their text, for tests."""

from __future__ import annotations

from copy import deepcopy
from functools import cache

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import UserAggregate
from millstream.language.binder import bind
from millstream.language.bound import Define
from millstream.language.parser import statements
from millstream.language.trial.dry_run import dry_run
from millstream.udas.generated.compiled import Compiled, compile_aggregate
from tests.language.auctions import catalog


@cache
def _auctions() -> Catalog:
    return catalog()


def defined(text: str) -> Define:
    """What the last statement of a text defines."""
    made = deepcopy(_auctions())
    bound = None
    for statement in statements(text):
        bound = bind(statement, made)
        dry_run(bound, made)
    assert isinstance(bound, Define)
    return bound


def compiled(text: str) -> Compiled:
    """The aggregate that the last statement of a text defines, ready to run."""
    definition = defined(text).definition
    assert isinstance(definition, UserAggregate)
    return compile_aggregate(definition.body)


def over(text: str, *rows: tuple[object, ...]) -> list[tuple[object, ...]]:
    """Everything that an aggregate returns over some tuples, TERMINATE included."""
    state = compiled(text).new()
    result: list[tuple[object, ...]] = []
    for row in rows:
        result += state.add(*row)
    return result + state.terminate()
