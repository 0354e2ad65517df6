"""The facts that the states of window aggregates and of OVER depend on."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.catalog.schema import UNKNOWN
from millstream.catalog.select import AggregateCall, OverAggregateSpec, WindowAggregateSpec
from millstream.operators.answers import EMITTED, END, START
from millstream.operators.registry import runner
from millstream.plan.fingerprint import facts
from millstream.plan.fingerprint.fact import Fact
from millstream.plan.fingerprint.lineage import ColumnLineage, Lineage, take_fingerprint
from millstream.structure import Structure


def group_lineage(below: Lineage, work: WindowAggregateSpec) -> Lineage:
    """The answers per window and group."""
    known = [
        *facts.keys(below, work.keys[: work.partition], "partition key"),
        *facts.keys(below, work.keys[work.partition :]),
        *(fact for call in work.calls for fact in facts.call_facts(below, call)),
        Fact("window", None, work.window.structure, "the window", f"[{work.window.text}]"),
        facts.time(below, work.time),
    ]
    if work.from_first:
        known.append(Fact("origin", None, None, "ORIGIN FIRST"))
    if work.emit is not None:
        known.append(Fact("emission", work.emit.structure, None, work.emit.text))
    answers = {key.name: ColumnLineage.of(("key", below.structure(key.expression)), key.type) for key in work.keys}
    answers.update(_answers(below, ((call, None) for call in work.calls)))
    given = {name: ColumnLineage(("bound", name), "TIMESTAMP") for name in (START, END)}
    emitted = {EMITTED: ColumnLineage((EMITTED,), "STRING")}
    return take_fingerprint(
        below, "window aggregate", runner(work.window).format, known, {**answers, **given, **emitted}
    )


def frame_lineage(below: Lineage, work: OverAggregateSpec, ordered: bool) -> Lineage:
    """The tuples with the answers over their frames; `ordered`, they bear the order in which they arrived."""
    known = [
        *facts.keys(below, work.keys, "partition key"),
        *facts.columns(below, work.carried),
        facts.time(below, work.time),
        *(fact for each in work.calls for fact in facts.call_facts(below, each.call, each.window)),
    ]
    if ordered:
        known.append(Fact("arrival", None, None, "the order of arrival, which a step above needs,"))
    answers = {name: below.column(name) for name in work.carried}
    answers.update(_answers(below, ((each.call, each.window.structure) for each in work.calls)))
    return take_fingerprint(below, "OVER", max(runner(each.window).format for each in work.calls), known, answers)


def _answers(below: Lineage, calls: Iterable[tuple[AggregateCall, Structure]]) -> dict[str, ColumnLineage]:
    """The columns that calls answer with, each over a frame of its own if it has one; rows come as lists."""
    found = {}
    for call, frame in calls:
        type_ = call.columns[0].type if call.rows is None else UNKNOWN
        found[call.name] = ColumnLineage.of((facts.call_structure(below, call, frame), 0), type_)
    return found
