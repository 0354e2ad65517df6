"""EXPLAIN ANALYZE: a plan, and what its steps have done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from millstream.plan.algebra import Node
from millstream.plan.column_origins import steps
from millstream.plan.explain import explain, walk_steps
from millstream.plan.physical.nodes import ArrowRead, Exchange, Noted, Observed, SparkRead, Stage
from millstream.plan.split import Split
from millstream.spark.run.progress import Counts

Figures = Mapping[str, int | float]
"""What is known of a step, by name."""


@dataclass(frozen=True)
class Analysis:
    """A physical plan and the counts of a query that has carried it out, or still does; `bounded`: of tables alone."""

    plan: Node
    counts: Counts
    bounded: bool = False

    @property
    def text(self) -> str:
        """The plan with the figures of its steps, and of the whole."""
        return "\n".join([explain(self.plan, self._words), *self._list_totals()])

    @property
    def steps(self) -> list[dict[str, object]]:
        """The steps from the last to the first, each with its depth, what was chosen, and its figures."""
        return [
            {"depth": depth, "step": step.label(), "notes": list(notes), **self.figures(node), **self._by_sink(node)}
            for depth, node, step, notes in walk_steps(self.plan)
        ]

    def figures(self, node: Node) -> Figures:
        """What is known of the step that a node is for."""
        found: dict[str, int | float] = {}
        for each in _same_step(node):
            match each:
                case Exchange():
                    found.update(self._list_exchange(each))
                case Stage():
                    found.update(self._stage(each))
                case Observed(number=number) if number in self.counts.steps.rows:
                    found["rows"] = self.counts.steps.rows[number]
        tasks = self.counts.steps.tasks
        if node is self.plan and tasks is not None and tasks.clear:
            found["task_seconds"] = round(tasks.last, 3)
        return found

    def _by_sink(self, node: Node) -> dict[str, dict[str, int]]:
        """Where a step gives rows to several sinks, how many to each."""
        shares = self.counts.steps.shares
        for each in _same_step(node):
            if isinstance(each, Observed) and isinstance(each.below, Split) and each.number in shares:
                outputs = each.below.outputs
                return {"sinks": {outputs[n].sink: rows for n, rows in sorted(shares[each.number].items())}}
        return {}

    def _words(self, node: Node) -> tuple[str, ...]:
        """The figures of a step as one line, at most."""
        shares = self._by_sink(node).get("sinks", {})
        given = ", ".join(f"{_count_text(rows, 'row')} to {sink}" for sink, rows in shares.items())
        parts = [*([given] if given else []), *_parts(self.figures(node))]
        return (f"-> {', '.join(parts)}",) if parts else ()

    @cached_property
    def _feeds(self) -> dict[int, tuple[int, int]]:
        stages = [step for step in steps(self.plan) if isinstance(step, Stage)]
        return {id(feed): (stage.number, number) for stage in stages for number, feed in enumerate(stage.feeds)}

    def _list_exchange(self, exchange: Exchange) -> Iterator[tuple[str, int | float]]:
        stage, number = self._feeds[id(exchange)]
        known = self.counts.steps.stages.get(stage)
        if known is None or number not in known.feeds:
            return
        feed = known.feeds[number]
        if feed.rows is not None:
            yield from (("read", feed.rows), ("files", feed.files or 0))
        yield "exchanged", feed.tuples
        yield "seconds_before", round(feed.seconds, 6)

    def _stage(self, stage: Stage) -> Iterator[tuple[str, int | float]]:
        known = self.counts.steps.stages.get(stage.number)
        if known is None:
            return
        work = self.counts.work.get(str(stage.number), {})
        yield "rows", known.rows
        if work:  # of very many buckets, none tells what it has done
            yield "came", sum(done.rows for done in work.values())
            yield "seconds", round(sum(done.seconds for done in work.values()), 6)
            yield "buckets", len(work)
        yield "bytes", known.bytes
        yield "state_bytes", known.state
        tasks = self.counts.steps.tasks
        if tasks is not None and tasks.clear and stage.number in tasks.before:
            yield "task_seconds_before", round(tasks.before[stage.number], 3)

    def _list_totals(self) -> Iterator[str]:
        counts = self.counts
        batches = (
            "" if self.bounded else f"{_count_text(counts.batches, 'batch')} of {_count_text(counts.rows_in, 'row')}, "
        )
        yield f"{batches}{counts.busy_seconds:.3f} seconds"
        phases = [f"{seconds:.3f} of {name}" for name, seconds in counts.phases.items()]
        if phases:
            yield f"  {', '.join(phases)}"
        for what, found in (("rejected", counts.rejected), ("late", counts.late)):
            lost = ", ".join(f"{number:,} of {stream}" for stream, number in found.items() if number)
            if lost:
                yield f"  {what}: {lost}"
        tasks = counts.steps.tasks
        if tasks is not None and tasks.clear:
            beside = f"; {tasks.beside:.3f} seconds of other tasks, as for joined tables" if tasks.beside else ""
            yield f"  seconds of tasks are Spark's, for all steps between two exchanges together{beside}"


def _same_step(node: Node) -> Iterator[Node]:
    """The physical nodes that stand for one step."""
    yield node
    if isinstance(node, Exchange | ArrowRead | Noted | SparkRead | Observed):
        yield from _same_step(node.below)


def _parts(figures: Figures) -> list[str]:
    """Figures in words."""
    found = dict(figures)
    parts = []
    if "rows" in found:
        parts.append(_count_text(found["rows"], "row"))
    if "came" in found:
        parts.append(f"from {found['came']:,} that came as {_size(found['bytes'])}")
        parts.append(f"{found['seconds']:.3f} seconds in {_count_text(found['buckets'], 'bucket')}")
    if "state_bytes" in found:
        parts.append(f"state {_size(found['state_bytes'])}")
    if "read" in found:
        parts.append(f"{_count_text(found['read'], 'row')} of {_count_text(found['files'], 'file')} read")
    if "exchanged" in found:
        parts.append(f"{found['exchanged']:,} exchanged after {found['seconds_before']:.3f} seconds")
    if "task_seconds_before" in found:
        parts.append(f"after {found['task_seconds_before']:.3f} seconds of tasks for its inputs")
    if "task_seconds" in found:
        parts.append(f"{found['task_seconds']:.3f} seconds of tasks")
    return parts


def _count_text(number: float, noun: str) -> str:
    plural = "es" if noun.endswith("ch") else "s"
    return f"{number:,} {noun}{'' if number == 1 else plural}"


def _size(count: float) -> str:
    """Bytes in words.

    >>> _size(17), _size(1700), _size(17_000_000)
    ('17 bytes', '1.7 kB', '17.0 MB')
    """
    if count < 1000:
        return f"{count:.0f} bytes"
    return f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"
