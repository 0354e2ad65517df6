"""Steps with state become stages, which get the tuples of their inputs by exchanges."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.operators.join.window_join_job import key_name
from millstream.plan.algebra import Node, OverAggregate, WindowAggregate
from millstream.plan.column_origins import STAGES, parts
from millstream.plan.joins_and_unions import MergeOrdered, Unique, WindowJoin
from millstream.plan.passes.carry_arrival import needs_arrival, tells_arrival
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.nodes import Exchange, Stage
from millstream.plan.physical.stage_columns import stage_columns, state_names
from millstream.plan.scans import LateScan, Scan

Keys = tuple[str, ...] | None


def form_stages(plan: Node, facts: Facts) -> Node:
    """`WindowAggregate over Union` becomes a stage with an exchange for each part of the union."""
    if isinstance(plan, STAGES):
        keys = _keys(plan)
        feeds = [
            _exchange(plan, port, part, _time(plan, port), keys, facts)
            for port, side in enumerate(_sides(plan))
            for part in side
        ]
        return Stage(plan, tuple(feeds), plan.number, said=(f"stage {plan.number}",))
    return plan.with_inputs([form_stages(below, facts) for below in plan.inputs])


def _exchange(stage: Node, port: int, part: Node, time: str | None, keys: Keys, facts: Facts) -> Exchange:
    ordered = _is_ordered(stage)
    columns = stage_columns(stage, port, ordered)
    return Exchange(part, form_stages(part, facts), columns, time, keys, port, ordered)


def _sides(stage: Node) -> Sequence[tuple[Node, ...]]:
    if isinstance(stage, LateScan):
        return [(Scan(stage.stream),)]
    return [parts(below) for below in stage.inputs]


def _is_ordered(stage: Node) -> bool:
    """Whether its tuples come with the order of their arrival: it matters, here or above, and is known."""
    wanted = needs_arrival(stage) or (isinstance(stage, OverAggregate) and stage.ordered)
    return wanted and all(tells_arrival(part) for side in _sides(stage) for part in side)


def _time(stage: Node, port: int) -> str | None:
    match stage:
        case WindowAggregate(window_aggregate=work):
            return work.time
        case OverAggregate(over_aggregate=framed):
            return framed.time
        case WindowJoin(times=times):
            return times[port]
        case Unique(time=time) | MergeOrdered(time=time):
            return time
        case LateScan(stream=stream):
            return stream.time
    raise NotImplementedError(type(stage).__name__)


def _keys(stage: Node) -> Keys:
    """The columns that say to which bucket a tuple goes."""
    match stage:
        case WindowAggregate(window_aggregate=work):
            keys = work.keys[: work.partition] if work.window.depends_on_data else work.keys
            return tuple(key.name for key in keys)
        case OverAggregate(over_aggregate=framed):
            return tuple(key.name for key in framed.keys)
        case WindowJoin(equalities=equalities):
            return tuple(key_name(number) for number in range(len(equalities)))
        case Unique(names=names):
            return tuple(state_names(names).values())
        case LateScan():
            return None
    return ()
