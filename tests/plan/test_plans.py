"""Plans as text: what EXPLAIN shows for each shape of query."""

from __future__ import annotations

from pathlib import Path

from millstream.language.binder import bind
from millstream.language.bound import Rows, Start
from millstream.language.parser import parse
from millstream.plan.build import build
from millstream.plan.explain import explain
from millstream.plan.passes import apply_passes
from millstream.plan.physical import physical
from millstream.plan.physical.facts import Facts
from tests import golden
from tests.language.auctions import catalog


def plan(text: str) -> str:
    made = catalog()
    bound = bind(parse(text)[0], made)
    if isinstance(bound, Start):
        return explain(physical(apply_passes(build(bound.query), made), Facts()))
    assert isinstance(bound, Rows)
    tree = explain(physical(apply_passes(build(bound.select), made), Facts()))
    return f"{tree}\ngives {bound.select.schema}" + (f"; time stamp {bound.select.time}" if bound.select.time else "")


def test_plans() -> None:
    golden.check(Path(__file__).with_name("plans.txt"), plan)
