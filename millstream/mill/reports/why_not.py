"""EXPLAIN WHY NOT: what holds a running query back, since when, and what would release it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta

from millstream.catalog.definitions import Stream, TimeStamp
from millstream.catalog.far_times import moment_text
from millstream.intervals import spoken
from millstream.plan.algebra import Node
from millstream.plan.column_origins import STAGES, steps
from millstream.plan.scans import Scan
from millstream.spark.run.progress import Counts


def why_not(name: str, plan: Node, counts: Counts) -> str:
    """The reasons, one a line."""
    if not any(isinstance(step, STAGES) for step in steps(plan)):
        return f"{name} holds nothing back: it answers each tuple as it comes"
    if not counts.batches:
        return f"{name} has read nothing yet"
    waiting = {stage: moment for stage, moment in counts.waits.items() if moment is not None and stage}
    if not waiting:
        return f"{name} holds nothing back: it has answered all that has come"
    stage, moment = min(waiting.items(), key=lambda found: found[1])
    return "\n".join(_reasons(name, plan, counts, stage, moment))


def _reasons(name: str, plan: Node, counts: Counts, stage: str, moment: int) -> Iterator[str]:
    stages = {str(step.number): step for step in steps(plan) if isinstance(step, STAGES)}
    since = counts.waiting_since.get(stage)
    ago = f", for {_seconds(since[1])}" if since else ""
    yield f"{name} waits for {moment_text(moment)}{ago}: what {stages[stage].label()} holds is complete then"
    streams = {step.stream.name: step.stream for step in steps(plan) if isinstance(step, Scan)}
    for source, passed in counts.passed.get(stage, {}).items():
        if source in streams:
            yield from _stream(streams[source], passed, moment, counts)
        elif passed is None or passed < moment:
            yield f"  stage {source} holds it back, {_come(passed)}: {stages[source].label()}"
            for below, time_ in counts.passed.get(source, {}).items():
                if below in streams:
                    yield f"    it reads {below}, which {_come(time_)}{_heard(below, counts)}"


def _stream(stream: Stream, passed: int | None, moment: int, counts: Counts) -> Iterator[str]:
    if passed is not None and passed >= moment:
        yield f"  {stream.name} does not: it {_come(passed)}"
        return
    yield f"  {stream.name} holds it back: it {_come(passed)}{_heard(stream.name, counts)}"
    ways = []
    if stream.time_stamp is TimeStamp.EXTERNAL:
        if stream.progresses_by_slack:
            slack = stream.slack // timedelta(microseconds=1)
            ways.append(f"a tuple of {moment_text(moment + slack)} or later" + (", by its slack" if slack else ""))
        if stream.punctuated_by is not None:
            ways.append(f"punctuation of {moment_text(moment)} or later")
        idle = stream.idle_after
        if idle is None:
            ways.append("IDLE AFTER, which it has not, would let it be passed over")
        else:
            ways.append(f"silence for {spoken(idle)}, once the clock has come so far")
    else:
        ways.append("the clock, when it has come so far")
    yield f"    what would release it: {'; '.join(ways)}"


def _heard(stream: str, counts: Counts) -> str:
    last = counts.heard.get(stream)
    return ", and has brought nothing yet" if last is None else f", and was last heard {_seconds(last)} ago"


def _seconds(since: float) -> str:
    return f"{time.monotonic() - since:.1f} seconds"


def _come(passed: int | None) -> str:
    return "has not said how far it is" if passed is None else f"has come to {moment_text(passed)}"
