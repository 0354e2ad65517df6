"""Conditions on the answers of a stage are checked in it, where that can be: fewer rows cross to Spark."""

from __future__ import annotations

from dataclasses import replace

from millstream.expressions.compile.arrow import NoArrowForm, arrow_condition
from millstream.expressions.words import words
from millstream.plan.algebra import Filter, Node, OverAggregate, Unnest, WindowAggregate, rewrite
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.nodes import InStage, Noted, Stage


def place_conditions(plan: Node, facts: Facts) -> Node:
    """`Filter over Stage` becomes a stage that checks the condition; lists of answers become rows there, too."""

    def place(node: Node) -> Node:
        match node:
            case Unnest(below=Stage() as stage):
                return _unnest_lists(node, stage)
            case Filter(below=Stage(holds=None) as stage):
                return _check_condition(node, stage)
            case Filter(below=InStage(below=Stage(holds=None) as stage, step=Unnest() as unnest)):
                return _check_condition(node, stage, unnest)
        return node

    return rewrite(plan, place)


def _unnest_lists(node: Unnest, stage: Stage) -> Node:
    """In the stage the lists that it makes; those of a stage before go through it as they are."""
    own = tuple(call for call in node.calls if call in _calls(stage.step))
    others = tuple(call for call in node.calls if call not in own)
    unnested = InStage(replace(stage, lists=own), Unnest(stage.step, own)) if own else stage
    return Unnest(unnested, others) if others else unnested


def _check_condition(node: Filter, stage: Stage, unnest: Unnest | None = None) -> Node:
    def left(why: str) -> Node:
        return Noted(node, f"Spark checks it: {why}")

    step = stage.step
    if (
        isinstance(step, WindowAggregate)
        and step.window_aggregate.window.whole
        and not step.window_aggregate.keys
        and unnest is None
    ):
        return left("a whole table has one row, which is known only at its end")
    try:
        holds = arrow_condition(node.predicate)
    except NoArrowForm as part:
        return left(f"{words(part.value)} has no form over Arrow")
    below: Node = replace(stage, holds=holds)
    return InStage(below if unnest is None else InStage(below, unnest), node)


def _calls(step: Node) -> tuple[object, ...]:
    match step:
        case WindowAggregate(window_aggregate=work):
            return work.calls
        case OverAggregate(over_aggregate=framed):
            return tuple(each.call for each in framed.calls)
    return ()
