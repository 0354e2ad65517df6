"""Random aggregates end in a result or in a clean error. MILLSTREAM_FUZZ=10000 tries that many."""

from __future__ import annotations

import os
import time

import pytest

from millstream.catalog.definitions import UserAggregate
from millstream.errors import EslError, RunError
from millstream.language.bound import Define
from millstream.udas.body import one_row_tables
from millstream.udas.generated import classes as generate
from millstream.udas.generated.compiled import Compiled, compile_aggregate
from millstream.udas.generated.states import WindowState
from tests.udas.fuzz import Author
from tests.udas.making import defined

pytestmark = pytest.mark.slow

TRIED = int(os.environ.get("MILLSTREAM_FUZZ", "300"))
BEGIN = int(os.environ.get("MILLSTREAM_FUZZ_SEED", "0"))


def outcome(seed: int) -> str:
    """How one random aggregate ends."""
    author = Author(seed)
    text = author.text()
    try:
        bound: Define = defined(text)
    except EslError as mistake:
        clean = str(mistake).startswith("error in ") and mistake.hint
        return "refused" if clean else f"badly told: {mistake}"
    assert isinstance(bound.definition, UserAggregate)
    made = compile_aggregate(bound.definition.body)
    tables = {t.name: made.table(t.name, [(1, 2), (3, None)]) for t in made.body.reads}
    state = made.new(tables)
    width = len(author.result)
    try:
        for number in range(6):
            row = author.row()
            if isinstance(state, WindowState):
                expired, rows = state.arrive(row, number, number - 2)
                rows = expired + rows
            else:
                rows = state.add(*row)
            assert all(len(r) == width for r in rows)
            state = made.from_plain(state.to_plain(), tables)
            if any(len(getattr(state, name)) > 300 for name in state.local):
                break  # it multiplies its rows with each tuple, and would be at it for long
        else:
            state.terminate()
    except RunError:
        return "stopped"
    return "ran"


def answers(made: Compiled, author: Author) -> str:
    """All that an aggregate returns over a few tuples."""
    tables = {t.name: made.table(t.name, [(1, 2), (3, None)]) for t in made.body.reads}
    state = made.new(tables)
    result = []
    author.chance.seed(1)
    try:
        for number in range(4):
            row = author.row()
            result.append(state.arrive(row, number, number - 2) if isinstance(state, WindowState) else state.add(*row))
        result.append(state.terminate())
    except RunError as problem:
        return f"{result} {problem}"
    return str(result)


def test_variables_answer_as_tables_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of one row are variables only to be faster."""
    compared = 0
    for seed in range(BEGIN, BEGIN + TRIED // 2):
        author = Author(seed)
        try:
            definition = defined(author.text()).definition
        except EslError:
            continue
        assert isinstance(definition, UserAggregate)
        if not one_row_tables(definition.body):
            continue
        fast = Compiled(definition.body)
        with monkeypatch.context() as patch:
            patch.setattr(generate, "one_row_tables", lambda body: ())
            slow = Compiled(definition.body)
        assert answers(fast, author) == answers(slow, author), author.text()
        compared += 1
    assert compared


def test_random_aggregates_end_well() -> None:
    counts: dict[str, int] = {}
    for seed in range(BEGIN, BEGIN + TRIED):
        begin = time.perf_counter()
        try:
            ended = outcome(seed)
        except Exception as problem:
            raise AssertionError(f"seed {seed}: {Author(seed).text()}") from problem
        assert ended in {"refused", "stopped", "ran"}, f"seed {seed}: {ended}"
        assert time.perf_counter() - begin < 10, f"seed {seed} takes too long"
        counts[ended] = counts.get(ended, 0) + 1
    # Enough of them must run, or nothing is tried.
    assert counts["ran"] > TRIED / 10, counts
