"""Queries to what travels to the tasks of their host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from millstream.catalog.select import AggregateCall
from millstream.operators.panes.partials import partial_states
from millstream.operators.panes.shared_panes import SharedPanes, common_job
from millstream.operators.window_aggregate_job import WindowAggregateJob
from millstream.plan.algebra import OverAggregate, WindowAggregate
from millstream.plan.physical.nodes import Stage
from millstream.plan.sharing.shared_plan import SharedPlan
from millstream.plan.sharing.states import has_panes, pane_of
from millstream.spark.host import Host
from millstream.spark.hosts.member import FIRST, Answers, Begin, Member, SharedState
from millstream.spark.lower.stage_inputs import Inflow
from millstream.spark.lower.stage_lowering import StageJob
from millstream.spark.lower.time_bounds import limits_of
from millstream.spark.lower.window_lowering import over_job, window_job
from millstream.spark.stage.feeds import Feed
from millstream.spark.stage.unnest import nested_columns, unnested_schema


@dataclass(frozen=True)
class Candidate:
    """A query that is to be a member: its id and name, what it does, and the id of its state in the host.

    In the log of a kept stream it begins somewhere.
    """

    id: str
    name: str
    plan: SharedPlan
    state: str | None
    begin: Begin = FIRST


def compile_members(found: Sequence[Candidate], host: Host) -> list[tuple[Member, SharedState | None]]:
    """The members, each with its state; those with one state have the same."""
    windows: dict[str, dict[str, WindowAggregateJob]] = {}
    compiled = []
    for one in found:
        member, state, work = _compile_member(one, host)
        compiled.append((member, state))
        if state is not None and work is not None and has_panes(state.id):
            windows.setdefault(state.id, {})[_window_key(work)] = work
    return [
        (member, state if state is None or state.id not in windows else _with_panes(state, windows[state.id]))
        for member, state in compiled
    ]


def _with_panes(state: SharedState, jobs: Mapping[str, WindowAggregateJob]) -> SharedState:
    """The state of windows that share panes."""
    pane = pane_of(state.id)
    inlet = replace(state.inlet, prepare=partial(partial_states, common_job(next(iter(jobs.values())), pane)))
    return replace(state, inlet=inlet, make=partial(SharedPanes, jobs, pane))


def _compile_member(one: Candidate, host: Host) -> tuple[Member, SharedState | None, WindowAggregateJob | None]:
    plan = one.plan
    if plan.stage is None or one.state is None:
        member = Member(one.id, one.name, plan.columns, plan.read, plan.before, begin=one.begin, pattern=plan.pattern)
        return member, None, None
    step = plan.stage.step
    names = {f"__r{number}": call.name for number, call in enumerate(_calls(step))}
    _, own, _ = _job(plan.stage, host)
    inflow, job, work = _job(_rename_answers(plan.stage), host)
    lists = nested_columns(plan.stage.lists)
    window = None if work is None or not has_panes(one.state) else _window_key(work)
    answers = Answers(
        unnested_schema(own.answers, lists), plan.above, {**own.names, **names}, lists, plan.stage.holds, window
    )
    inlet = replace(inflow.inlet, limits=limits_of(plan.stream, host))
    feed = Feed(0, inflow.origin.slack, 0, inlet.order)
    state = SharedState(one.state, plan.read, inlet, plan.before, feed, job.make, one.begin)
    member = Member(one.id, one.name, plan.columns, state=one.state, answers=answers, begin=one.begin)
    return member, state, work


def _job(stage: Stage, host: Host) -> tuple[Inflow, StageJob, WindowAggregateJob | None]:
    match stage.step:
        case WindowAggregate() as step:
            (inflow,), job, work = window_job(stage, step, host)
            return inflow, job, work
        case OverAggregate() as over:
            (inflow,), job = over_job(stage, over, host)
            return inflow, job, None
    raise NotImplementedError(f"a host has no {type(stage.step).__name__}")


def _calls(step: object) -> tuple[AggregateCall, ...]:
    match step:
        case WindowAggregate(window_aggregate=work):
            return work.calls
        case OverAggregate(over_aggregate=framed):
            return tuple(each.call for each in framed.calls)
    return ()


def _rename_answers(stage: Stage) -> Stage:
    """The stage as it is for all whose state is the same: answers are named by their places, and all are given."""
    step = stage.step
    match step:
        case WindowAggregate(window_aggregate=work):
            calls = tuple(replace(call, name=f"__r{number}") for number, call in enumerate(work.calls))
            step = replace(step, window_aggregate=replace(work, calls=calls), gives=None)
        case OverAggregate(over_aggregate=framed):
            each = tuple(replace(c, call=replace(c.call, name=f"__r{n}")) for n, c in enumerate(framed.calls))
            step = replace(step, over_aggregate=replace(framed, calls=each))
    return replace(stage, step=step, lists=(), holds=None)


def _window_key(work: WindowAggregateJob) -> str:
    return str(work.window.structure)
