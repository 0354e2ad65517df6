"""The plan of a query that shares the reading of its stream, or the reason why it cannot."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from millstream.catalog.definitions import Stream, TimeStamp
from millstream.catalog.select import AggregateCall
from millstream.operators.match.pattern import Pattern
from millstream.operators.tuples.row_steps import Step
from millstream.plan.algebra import Filter, Node, OverAggregate, WindowAggregate
from millstream.plan.column_origins import STAGES, fingerprints, steps, trace
from millstream.plan.fingerprint.fact import Fact
from millstream.plan.fingerprint.fingerprint import Fingerprint
from millstream.plan.match_registrations import MatchRegistrations
from millstream.plan.physical.arrow_steps import Refused, arrow_read, arrow_rows
from millstream.plan.physical.choose_reader import check_reading
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.nodes import Exchange, Stage
from millstream.plan.scans import LateScan, RejectedScan, Scan, TableScan
from millstream.plan.sharing.find_pattern import find_pattern
from millstream.plan.split import Split
from millstream.windows.emit import Pace


@dataclass(frozen=True)
class SharedPlan:
    """A query that shares the reading of a stream.

    `before` leads from the tuples of the stream to its stage or, if it has none, to its rows; `above` from the answers
    of the stage to its rows. `read` are the columns that it reads of the stream, `columns` those of its rows.
    `state` is the id of its state: queries with the same one need it once. Those with the same `panes` can have their
    windows answered from the same panes; `pane` is the width of those that it would have alone. `files`: tuples are
    read without Spark, also if they are those of a log. Plans with equal `pattern`s differ in constants alone.
    """

    stream: Stream
    read: pa.Schema
    before: tuple[Step, ...]
    columns: pa.Schema
    above: tuple[Step, ...] = ()
    stage: Stage | None = None
    state: str | None = None
    panes: str | None = None
    pane: int = 0
    files: bool = False
    pattern: Pattern | None = None


def shared_plan(logical: Node, physical: Node, facts: Facts) -> SharedPlan:
    """How a query runs that shares the reading of its stream; Refused says why it does not."""
    _refuse_plans_of_other_shape(logical)
    scan = next(step for step in steps(logical) if isinstance(step, Scan))
    arrived = not reads_files(scan, facts)
    stage = next((step for step in steps(physical) if isinstance(step, Stage)), None)
    if stage is None:
        if not any(isinstance(step, Filter) for step in steps(logical)):
            raise Refused("every tuple passes it: its rows are written by several tasks at once")
        read, before, columns = arrow_rows(logical, facts, arrived)
        pattern = find_pattern(logical, facts, arrived)
        return SharedPlan(scan.stream, read, before, columns, files=not arrived, pattern=pattern)
    (exchange,) = stage.feeds
    if exchange.time is None or trace(exchange.part, exchange.time) != (scan, scan.stream.time):
        raise Refused(f"the time stamps of {scan.stream.name} are not those that its windows are about")
    reading = arrow_read(replace(exchange, below=exchange.part), scan, facts, arrived)
    if reading.tables:
        raise Refused("it joins a table")
    stage = replace(stage, feeds=(replace(exchange, below=reading),))
    _, above, columns = arrow_rows(physical, facts)
    found = fingerprints(logical)[0]
    panes, pane = _panes(stage, found, scan.stream)
    return SharedPlan(
        scan.stream, reading.read, reading.steps, columns, above, stage, found.id, panes, pane, not arrived
    )


def reads_files(scan: Scan, facts: Facts) -> bool:
    """Whether files of a stream can be read by those who use its tuples, without Spark."""
    try:
        check_reading(Exchange(scan, scan, {}, scan.stream.time, None), scan, facts)
    except Refused as refusal:
        _refuse_log(scan, str(refusal))
        return False
    if any(item.name == scan.stream.time for item in scan.stream.computed):
        _refuse_log(scan, f"its time stamp {scan.stream.time} is computed")
        return False
    return True


def _refuse_log(scan: Scan, why: str) -> None:
    """Positions are known where tasks read a log by themselves."""
    if scan.stream.keep is not None:
        raise Refused(f"Spark reads the log of {scan.stream.name}: {why}")


def _refuse_plans_of_other_shape(plan: Node) -> None:
    found = list(steps(plan))
    if isinstance(plan, Split):
        raise Refused("it feeds several sinks by itself")
    for kind, why in (
        (LateScan, "it reads late tuples"),
        (RejectedScan, "it reads rejected rows"),
        (TableScan, "it reads a table"),
        (MatchRegistrations, "it is a template, which begins its batches when its registrations are written down"),
    ):
        if any(isinstance(step, kind) for step in found):
            raise Refused(why)
    scans = [step for step in found if isinstance(step, Scan)]
    if len(scans) != 1:
        raise Refused("it does not read one stream, once")
    if scans[0].stream.source is None:
        raise Refused("its stream has no source")
    stages = [step for step in found if isinstance(step, STAGES)]
    if len(stages) > 1:
        raise Refused(f"it has {len(stages)} steps with state, and those who share have one at most")
    for stage in stages:
        _refuse_stage(stage, scans[0].stream)


def _refuse_stage(stage: Node, stream: Stream) -> None:
    calls: list[AggregateCall] = []
    match stage:
        case WindowAggregate(window_aggregate=work):
            calls = list(work.calls)
            if work.emit is not None and work.emit.pace is Pace.WALL:
                raise Refused("it answers by the clock on the wall")
        case OverAggregate(over_aggregate=framed):
            calls = [each.call for each in framed.calls]
        case _:
            raise Refused(f"{type(stage).__name__} is not shared")
    if any(call.reads for call in calls):
        raise Refused("an aggregate of it reads a table")
    if stream.time_stamp is TimeStamp.LATENT:
        raise Refused(f"the tuples of {stream.name} have no time stamps of their own")


def _panes(stage: Stage, found: Fingerprint, stream: Stream) -> tuple[str | None, int]:
    """What must be equal for windows to share panes: all that the state depends on, but for range and slide."""
    if not isinstance(stage.step, WindowAggregate):
        return None, 0
    work = stage.step.window_aggregate
    family, paned = work.window.pane_family, work.window.paned
    special = work.emit is not None or work.from_first or stream.punctuated_by is not None
    if family is None or paned is None or special:
        return None, 0
    others = [fact for fact in found.facts if fact.kind != "window"]
    return Fingerprint.of("panes", found.format, [*others, Fact("panes", family, None, "")], found.below).id, paned.pane
