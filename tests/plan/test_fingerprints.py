"""Two queries have the same fingerprints if and only if they have the same state; what differs is said in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.aggregates.sum import Sum
from millstream.catalog.catalog import Catalog
from millstream.catalog.schema import type_name
from millstream.catalog.select import AggregateCall
from millstream.language.binder import bind
from millstream.language.bound import Rows, Start
from millstream.language.parser import parse
from millstream.operators.tuples.late import LateTuples
from millstream.plan.algebra import Node, OverAggregate, Unnest, WindowAggregate
from millstream.plan.build import build
from millstream.plan.column_origins import fingerprints, lineage_of, steps
from millstream.plan.fingerprint.differences import differences
from millstream.plan.fingerprint.facts import call_structure
from millstream.plan.fingerprint.fingerprint import Fingerprint
from millstream.plan.joins_and_unions import WindowJoin
from millstream.plan.passes import apply_passes
from millstream.plan.split import Split
from tests import golden
from tests.drawing import drawn
from tests.language.auctions import catalog as auctions
from tests.plan.drawn_queries import MEANINGS, mutations, spellings
from tests.plan.edits import DECLARED, HARMFUL, HARMLESS, QUERIES, Edit, catalog_of, edited, plan_of


def of(*edit: str) -> tuple[Fingerprint, ...]:
    return fingerprints(plan_of(edited(*edit)))


@pytest.mark.parametrize("edit", HARMLESS, ids=lambda edit: f"{edit[0]}: {edit[2]}")
def test_edits_that_change_no_state(edit: Edit) -> None:
    before, now = of(edit[0]), of(*edit)
    assert differences(before, now) == []
    assert [step.id for step in before] == [step.id for step in now]


@pytest.mark.parametrize(("query", "old", "new", "says"), HARMFUL, ids=lambda text: text)
def test_edits_that_change_it_say_what(query: str, old: str, new: str, says: str) -> None:
    before, now = of(query), of(query, old, new)
    assert [step.id for step in before] != [step.id for step in now]
    assert says in "; ".join(differences(before, now))


@pytest.mark.parametrize("query", QUERIES)
def test_they_are_the_same_after_json(query: str) -> None:
    steps = of(query)
    again = [Fingerprint.from_json(json.loads(json.dumps(step.to_json()))) for step in steps]
    assert steps
    assert again == list(steps)
    assert [step.id for step in again] == [step.id for step in steps]


def test_state_in_another_format_is_another_state(monkeypatch: pytest.MonkeyPatch) -> None:
    before, late = of("window"), of("late")
    monkeypatch.setattr(Sum, "format", 2)
    (said,) = differences(before, of("window"))
    assert said.startswith("in its window aggregate, the state of SUM(v) was int64, int64, int64 and is now int64,")
    assert said.endswith("(format 2)")
    monkeypatch.setattr(LateTuples, "format", 3)
    assert differences(late, of("late")) == ["in its late tuples, state had the format 1 and has now 3"]


@pytest.mark.parametrize("case", golden.read(Path(__file__).with_name("plans.txt")), ids=lambda case: case.name)
def test_every_column_that_a_step_states_is_traced(case: golden.Case) -> None:
    made = auctions()
    bound = bind(parse(case.given)[0], made)
    assert isinstance(bound, Rows | Start)
    plan = apply_passes(build(bound.query if isinstance(bound, Start) else bound.select), made)
    for step in (step for step in steps(plan) if not isinstance(step, Split | Unnest)):
        traced = lineage_of(step).columns
        answers = [column for column in step.schema if column.name.lower() not in lists(step)]
        assert [traced[column.name.lower()].type for column in answers] == [type_name(c.type) for c in answers]


def lists(step: Node) -> set[str]:
    """The answers that are lists of rows: they are traced as the columns that they become."""
    below = [each for each in steps(step) if isinstance(each, Unnest)]
    every = [c.name for each in below for c in each.calls]
    match step:
        case WindowAggregate(window_aggregate=work):
            every += [call.name for call in work.calls if call.rows is not None]
        case OverAggregate(over_aggregate=work):
            every += [each.call.name for each in work.calls if each.call.rows is not None]
    return set(every)


def laid_out(plan: Node) -> list[tuple[object, ...]]:
    """What the state of the steps of a plan is made of, in the order in which it is kept."""
    found: list[tuple[object, ...]] = []
    for step in steps(plan):
        below = [lineage_of(each) for each in step.inputs]
        match step:
            case WindowAggregate(window_aggregate=work):
                keys = [(key.name, below[0].structure(key.expression)) for key in work.keys]
                found.append((keys, [call_structure(below[0], call) for call in work.calls], read(work.calls)))
            case OverAggregate(over_aggregate=work):
                keys = [(key.name, below[0].structure(key.expression)) for key in work.keys]
                calls = [call_structure(below[0], each.call, each.window.structure) for each in work.calls]
                carried = [below[0].column(name).structure for name in work.carried]
                found.append((keys, calls, read([each.call for each in work.calls]), carried))
            case WindowJoin():
                equal = [
                    tuple(s.structure(e) for s, e in zip(below, (q.left, q.right), strict=True))
                    for q in step.equalities
                ]
                kept = [
                    [s.column(name).structure for name in names] for s, names in zip(below, step.columns, strict=True)
                ]
                found.append((equal, kept))
    return found


def read(calls: Sequence[AggregateCall]) -> list[int]:
    """Which of the calls read the same, as lowering tells it: by the words."""
    words = [str(part) for call in calls for part in (*call.arguments, call.condition) if part is not None]
    return [words.index(word) for word in words]


@cache
def declared() -> Catalog:
    return catalog_of(DECLARED)[0]


def drawn_plan(text: str) -> Node:
    bound = bind(parse(text)[0], declared())
    assert isinstance(bound, Rows)
    return apply_passes(build(bound.select), declared())


@drawn(300)
@given(data=st.data())
def test_what_is_spelt_otherwise_is_the_same_and_what_means_something_else_is_not(data: st.DataObject) -> None:
    meaning = data.draw(MEANINGS)
    other = data.draw(mutations(meaning))
    one, same, mutated = (drawn_plan(data.draw(spellings(each))) for each in (meaning, meaning, other))
    (first,), (second,), (third,) = map(fingerprints, (one, same, mutated))
    assert differences([first], [second]) == []
    assert first.id == second.id
    assert laid_out(one) == laid_out(same)
    assert (first.id == third.id) == (meaning.state == other.state)
    assert bool(differences([first], [third])) == (first.id != third.id)
