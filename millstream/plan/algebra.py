"""The logical algebra: what a query computes, whoever runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from sqlglot import exp

from millstream.catalog.definitions import Item, Stream, Table, Windowed
from millstream.catalog.intervals import spoken
from millstream.catalog.schema import Schema
from millstream.language.written import written
from millstream.windows.cumulate import Cumulate
from millstream.windows.panes import Paned


@dataclass(frozen=True)
class Node:
    """A step of a plan; its input, if it has one, is the field `below`."""

    def label(self) -> str:
        """One line of EXPLAIN."""
        raise NotImplementedError


@dataclass(frozen=True)
class OneRow(Node):
    """A single row without columns: the input of a SELECT without FROM."""

    def label(self) -> str:
        """One line of EXPLAIN."""
        return "OneRow"


@dataclass(frozen=True)
class Scan(Node):
    """The tuples of a stream, as its source delivers them."""

    stream: Stream

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"Scan stream {self.stream.name} from {self.stream.source} ({_time(self.stream)})"


@dataclass(frozen=True)
class RejectedScan(Node):
    """The rows of a stream that did not parse: its side output REJECTED."""

    stream: Stream

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"Scan rejected rows of {self.stream.name} from {self.stream.source}"


@dataclass(frozen=True)
class LateScan(Node):
    """The tuples of a stream that come behind its low-watermark: its side output LATE."""

    stream: Stream

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"Scan late tuples of {self.stream.name} from {self.stream.source} ({_time(self.stream)})"


@dataclass(frozen=True)
class TableScan(Node):
    """The rows of a stored table."""

    table: Table

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"Scan table {self.table.name} from {self.table.source}"


@dataclass(frozen=True)
class Reference(Node):
    """A relation by name; a pass puts its meaning here."""

    name: str

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"Reference {self.name}"


@dataclass(frozen=True)
class Derived(Node):
    """The plan of a derived stream, put in place of its name."""

    below: Node
    name: str

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"Stream {self.name}"


@dataclass(frozen=True)
class Filter(Node):
    """The tuples for which a predicate holds."""

    below: Node
    predicate: exp.Expression

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"Filter {written(self.predicate)}"


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


@dataclass(frozen=True)
class WindowAggregate(Node):
    """The answers of aggregates per window and group: keys, answers, window_start and window_end."""

    below: Node
    windowed: Windowed

    def label(self) -> str:
        """One line of EXPLAIN."""
        work = self.windowed
        calls = ", ".join(f"{c.text} FILTER ({written(c.condition)})" if c.condition else c.text for c in work.calls)
        keys = f" by {', '.join(written(k.expression) for k in work.keys)}" if work.keys else ""
        pane = spoken(timedelta(microseconds=work.window.pane))
        shape = f"{_shape(work.window)} along {work.time}"
        return f"WindowAggregate {calls}{keys}, {shape}: panes of {pane}, merged by two stacks"


@dataclass(frozen=True)
class Sort(Node):
    """The rows of a bounded input in order."""

    below: Node
    terms: tuple[exp.Expression, ...]

    def label(self) -> str:
        """One line of EXPLAIN."""
        return "Sort " + ", ".join(written(t) for t in self.terms)


@dataclass(frozen=True)
class Distinct(Node):
    """The rows of a bounded input, each once."""

    below: Node

    def label(self) -> str:
        """One line of EXPLAIN."""
        return "Distinct"


@dataclass(frozen=True)
class Limit(Node):
    """Some rows of a bounded input."""

    below: Node
    limit: int | None
    offset: int | None

    def label(self) -> str:
        """One line of EXPLAIN."""
        parts = (
            "Limit",
            None if self.limit is None else str(self.limit),
            f"offset {self.offset}" if self.offset else None,
        )
        return " ".join(p for p in parts if p)


def rewrite(node: Node, step: Callable[[Node], Node]) -> Node:
    """The plan with a step applied to every node, inputs first."""
    below = getattr(node, "below", None)
    if isinstance(below, Node):
        node = replace(node, below=rewrite(below, step))  # type: ignore[call-arg]
    return step(node)


def _item(item: Item) -> str:
    expression = written(item.expression)
    return expression if expression == item.name else f"{expression} AS {item.name}"


def _shape(window: Paned) -> str:
    def length(name: str) -> str:
        return spoken(timedelta(microseconds=getattr(window, name)))

    if isinstance(window, Cumulate):
        return f"CUMULATE step {length('step')}, size {length('size')}"
    return f"RANGE {length('range')}, SLIDE {length('slide')}"


def _time(stream: Stream) -> str:
    words = f"{stream.time_stamp.value} time stamp"
    if stream.time:
        words += f" {stream.time}"
    return f"{words}, slack {spoken(stream.slack)}" if stream.slack else words
