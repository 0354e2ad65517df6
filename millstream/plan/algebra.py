"""The logical algebra: the nodes of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from millstream.catalog.arrow import to_sql
from millstream.catalog.schema import Column, Schema, sql_type, type_name
from millstream.catalog.select import AggregateCall, Item, OverAggregateSpec, WindowAggregateSpec
from millstream.expressions.tree import Value
from millstream.expressions.words import words
from millstream.language.types.functions import makes_rows
from millstream.operators.evaluation import evaluation
from millstream.plan.fingerprint import facts
from millstream.plan.fingerprint.fact import Fact
from millstream.plan.fingerprint.lineage import ColumnLineage, Lineage
from millstream.plan.fingerprint.windows import frame_lineage, group_lineage
from millstream.structure import Structure
from millstream.windows.panes import Paned
from millstream.windows.words import duration

BOUNDS = (Column("window_start", sql_type("timestamp")), Column("window_end", sql_type("timestamp")))
EMITTED = Column("emitted", sql_type("string"))


@dataclass(frozen=True)
class Node:
    """A step of a plan; its input, if any, is the field `below`. Steps with several inputs: joins_and_unions.py."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """What it reads."""
        below = getattr(self, "below", None)
        return (below,) if isinstance(below, Node) else ()

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same step over other inputs."""
        return replace(self, below=inputs[0]) if inputs else self  # type: ignore[call-arg]

    def label(self) -> str:
        """One line of EXPLAIN."""
        raise NotImplementedError

    @property
    def schema(self) -> Schema:
        """The columns of its rows: those of its first input, unless a step says otherwise."""
        if not self.inputs:
            raise NotImplementedError(type(self).__name__)
        return self.inputs[0].schema

    def columns_of(self, names: Iterable[str]) -> tuple[Column, ...]:
        """Some of its columns, in that order; those that it does not have are passed over."""
        schema = self.schema
        return tuple(column for name in names if (column := schema.find(name)) is not None)

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Where its columns come from and what its rows depend on, of inputs that have been traced."""
        raise NotImplementedError(f"{type(self).__name__} does not say where its rows come from")


@dataclass(frozen=True)
class Derived(Node):
    """The plan of a derived stream, put in place of its name."""

    below: Node
    name: str

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"Stream {self.name}"

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Where its columns come from and what its rows depend on."""
        return inputs[0]


@dataclass(frozen=True)
class Filter(Node):
    """The tuples for which a predicate holds."""

    below: Node
    predicate: Value

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"Filter {words(self.predicate)}"

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Where its columns come from and what its rows depend on."""
        return inputs[0].with_facts(facts.conditions(inputs[0], self.predicate))


@dataclass(frozen=True)
class Project(Node):
    """New columns computed from each tuple."""

    below: Node
    items: tuple[Item, ...]

    @property
    def schema(self) -> Schema:
        """The columns that come out."""
        return Schema(i.column for i in self.items)

    def label(self) -> str:
        """One line of EXPLAIN."""
        return "Project " + ", ".join(_item(i) for i in self.items)

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Where its columns come from and what its rows depend on."""
        (below,) = inputs
        made = [ColumnLineage.of(below.structure(item.expression), item.type) for item in self.items]
        named = dict(zip((item.name for item in self.items), made, strict=True))
        several = (item for item in self.items if makes_rows(item.expression))
        rows = (Fact("rows", named[i.name].structure, None, f"rows of {words(i.expression)}") for i in several)
        return below.with_facts(rows).with_columns(named)


@dataclass(frozen=True)
class WindowAggregate(Node):
    """The answers of aggregates per window and group: keys, answers, window_start, window_end and perhaps emitted."""

    below: Node
    window_aggregate: WindowAggregateSpec
    gives: frozenset[str] | None = None
    number: int = 0

    @property
    def schema(self) -> Schema:
        """The keys, the answers, and of what windows there are: as far as anything above reads them."""
        work = self.window_aggregate
        emitted = (EMITTED,) if work.emit is not None else ()
        found = (*(key.column for key in work.keys), *map(answer, work.calls), *BOUNDS, *emitted)
        return Schema(column for column in found if self.gives is None or column.name in self.gives)

    def label(self) -> str:
        """One line of EXPLAIN."""
        calls = (
            f"{facts.call_words(c)} ({evaluation(c.aggregate, self.window_aggregate.window)})"
            for c in self.window_aggregate.calls
        )
        work = self.window_aggregate
        keys = f" by {', '.join(words(k.expression) for k in work.keys)}" if work.keys else ""
        parts = [work.window.text if work.window.whole else f"{work.window.text} along {work.time or facts.ARRIVAL}"]
        if work.partition:
            parts.append(f"per {', '.join(words(k.expression) for k in work.keys[: work.partition])}")
        if work.from_first:
            parts.append("from the first tuple")
        paned = work.window.paned
        if paned is not None and not paned.whole:
            parts.append(f"panes of {duration(paned.pane)}")
        if work.emit is not None:
            parts.append(work.emit.text)
        return f"WindowAggregate {', '.join(calls) or 'groups'}{keys}, {', '.join(parts)}"

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Its state is that of its calls, for each group and window."""
        return group_lineage(inputs[0], self.window_aggregate)


@dataclass(frozen=True)
class OverAggregate(Node):
    """Each tuple with the answers of aggregates over the frames that end at it, for one partition.

    `ordered`, the tuples bear the order in which they arrived.
    """

    below: Node
    over_aggregate: OverAggregateSpec
    number: int = 0
    ordered: bool = False

    @property
    def schema(self) -> Schema:
        """The columns that are carried, and the answers."""
        return Schema(
            [
                *self.below.columns_of(self.over_aggregate.carried),
                *(answer(each.call) for each in self.over_aggregate.calls),
            ]
        )

    def label(self) -> str:
        """One line of EXPLAIN."""
        calls = (
            f"{facts.call_words(c.call)} OVER {c.window.text} ({evaluation(c.call.aggregate, c.window)})"
            for c in self.over_aggregate.calls
        )
        work = self.over_aggregate
        keys = f" per {', '.join(words(k.expression) for k in work.keys)}" if work.keys else ""
        return f"OverAggregate {', '.join(calls)}{keys} along {work.time or facts.ARRIVAL}"

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Its state is the tuples that its frames reach."""
        return frame_lineage(inputs[0], self.over_aggregate, self.ordered)


@dataclass(frozen=True)
class Unnest(Node):
    """Answers that are lists of rows, as rows: an answer without rows gives none."""

    below: Node
    calls: tuple[AggregateCall, ...]

    @property
    def schema(self) -> Schema:
        """In place of the lists the columns of their rows, behind the others."""
        lists = {call.name for call in self.calls}
        kept = (column for column in self.below.schema if column.name not in lists)
        return Schema([*kept, *(column for call in self.calls for column in call.columns)])

    def label(self) -> str:
        """One line of EXPLAIN."""
        return "Unnest " + ", ".join(facts.call_words(c) for c in self.calls)

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """The columns of a list's rows, by their places."""
        (below,) = inputs
        made = {
            column.name: ColumnLineage.of((below.column(call.name).structure, place), column.type)
            for call in self.calls
            for place, column in enumerate(call.columns)
        }
        return below.with_columns({**below.columns, **made})


@dataclass(frozen=True)
class AssignWindows(Node):
    """Each tuple once per window that it is in, with window_start and window_end; without a time, never."""

    below: Node
    window: Paned
    time: str

    @property
    def schema(self) -> Schema:
        """Those of the tuples, and the bounds of the window."""
        return Schema([*self.below.schema, *BOUNDS])

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"AssignWindows {self.window.text} along {self.time}"

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Where its columns come from and what its rows depend on."""
        (below,) = inputs
        about: Structure = (self.window.structure, below.column(self.time).structure)
        given = {bound.name: ColumnLineage.of(("bound", bound.name, about), bound.type) for bound in BOUNDS}
        return below.with_facts([Fact("windows", about, None, self.label())]).with_columns({**below.columns, **given})


def answer(call: AggregateCall) -> Column:
    """The column of a call's answers: lists of rows are lists here."""
    if call.rows is None:
        return Column(call.name, to_sql(call.aggregate.result))
    fields = ", ".join(f"`{column.name}`: {type_name(column.type)}" for column in call.rows)
    return Column(call.name, sql_type(f"ARRAY<STRUCT<{fields}>>"))


def rewrite(node: Node, step: Callable[[Node], Node]) -> Node:
    """The plan with a step applied to every node, inputs first."""
    return step(node.with_inputs([rewrite(below, step) for below in node.inputs]))


def _item(item: Item) -> str:
    expression = words(item.expression)
    return expression if expression == item.name else f"{expression} AS {item.name}"
