"""The physical plan: who reads, what is exchanged, what a stage does. What Spark's own steps do stays as it is.

A physical plan is lowered without another decision. EXPLAIN shows the logical steps that it carries out, and below
each what was chosen, and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa

from millstream.catalog.schema import Schema
from millstream.catalog.select import AggregateCall
from millstream.expressions.arrow.steps import ArrowExpression
from millstream.expressions.tree import Value
from millstream.operators.tuples.row_steps import Step
from millstream.plan.algebra import Filter, Node, Unnest
from millstream.plan.joins_and_unions import Union
from millstream.plan.scans import Scan

Columns = Mapping[str, Value]
"""Columns by name, and how each is computed."""


class Explanation(NamedTuple):
    """A physical step in EXPLAIN: the logical step that it carries out, what is said of it, and what it reads."""

    step: Node
    notes: tuple[str, ...]
    beneath: tuple[Node, ...]


def explain_step(node: Node) -> Explanation:
    """A step in EXPLAIN; a logical one, which Spark carries out, needs no words."""
    return node.explanation if isinstance(node, Physical) else Explanation(node, (), node.inputs)


@dataclass(frozen=True)
class Physical(Node):
    """A step of a physical plan."""

    @property
    def explanation(self) -> Explanation:
        """How EXPLAIN shows it."""
        raise NotImplementedError

    def label(self) -> str:
        """One line of EXPLAIN."""
        return self.explanation.step.label()


@dataclass(frozen=True)
class Noted(Physical):
    """A step as it is, and what EXPLAIN says of it."""

    below: Node
    note: str

    @property
    def explanation(self) -> Explanation:
        """The step."""
        return _add_note(self.below, self.note)


@dataclass(frozen=True)
class Observed(Physical):
    """A step whose rows are counted, by its number."""

    below: Node
    number: int

    @property
    def explanation(self) -> Explanation:
        """The step."""
        return explain_step(self.below)


@dataclass(frozen=True)
class SparkRead(Physical):
    """The tuples of a stream as rows of Spark, and why no stage reads them by itself."""

    below: Node
    why: str

    @property
    def explanation(self) -> Explanation:
        """The scan."""
        return _add_note(self.below, f"Spark reads: {self.why}")


@dataclass(frozen=True)
class TableRows:
    """The rows of a table that comes along with files, and the columns that are wanted of them."""

    rows: Node
    columns: pa.Schema


@dataclass(frozen=True)
class ArrowRead(Physical):
    """Files that a stage reads by itself, and what it does with their tuples before they are exchanged.

    `below` are the logical steps that it carries out. `read` are the columns that are read of the files, `types` those
    of what comes out. `scan` is the first scan of the stream in the query, or a later one.
    """

    below: Node
    scan: Scan
    read: pa.Schema
    steps: tuple[Step, ...]
    tables: tuple[TableRows, ...]
    types: Mapping[str, pa.DataType]

    @property
    def explanation(self) -> Explanation:
        """The last of the steps that it carries out."""
        return explain_step(self.below)


@dataclass(frozen=True)
class Buckets:
    """How many buckets there are, and why; None: as many as Spark has tasks, which only a running Spark tells."""

    count: int | None
    why: str


UNCHOSEN = Buckets(None, "nobody has chosen yet")


@dataclass(frozen=True)
class Exchange(Physical):
    """The tuples of one input of a stage, dealt to `buckets` by `keys`: without any, all to one; None deals evenly.

    `part` is the logical plan of the input, `below` is what gives its tuples, and `columns` are computed of them.
    `time` is their time stamp, if they have one. `port` tells the sides of a join apart. `ordered`, the tuples tell in
    which order they arrived. `partial`, partial states of panes are exchanged in place of tuples.
    """

    part: Node
    below: Node
    columns: Columns
    time: str | None
    keys: tuple[str, ...] | None
    port: int = 0
    ordered: bool = False
    partial: bool = False
    buckets: Buckets = UNCHOSEN

    @property
    def schema(self) -> Schema:
        """Packets have no columns of the query."""
        raise NotImplementedError

    @property
    def explanation(self) -> Explanation:
        """The step that gives the tuples; of the exchange itself the stage speaks."""
        return explain_step(self.below)


@dataclass(frozen=True)
class Stage(Physical):
    """A step with state. Answers that are `lists` become rows in it, and of these it gives those for which `holds`."""

    step: Node
    feeds: tuple[Exchange, ...]
    number: int
    lists: tuple[AggregateCall, ...] = ()
    holds: ArrowExpression | None = None
    said: tuple[str, ...] = ()

    @property
    def buckets(self) -> int | None:
        """How many buckets its tuples are dealt to."""
        return self.feeds[0].buckets.count

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Its exchanges."""
        return self.feeds

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same over other exchanges."""
        return replace(self, feeds=tuple(feed for feed in inputs if isinstance(feed, Exchange)))

    @property
    def schema(self) -> Schema:
        """Its answers."""
        return Unnest(self.step, self.lists).schema if self.lists else self.step.schema

    @property
    def explanation(self) -> Explanation:
        """The step, and what was said of the stage. Inputs that it reads as one are a union."""
        sides = [tuple(f for f in self.feeds if f.port == port) for port in sorted({f.port for f in self.feeds})]
        beneath = tuple(side[0] if len(side) == 1 else Union(side) for side in sides)
        return Explanation(self.step, self.said, beneath)


@dataclass(frozen=True)
class InStage(Physical):
    """A step that the stage below carries out: what comes from there has been through it."""

    below: Node
    step: Filter | Unnest

    @property
    def schema(self) -> Schema:
        """What the stage gives."""
        return self.below.schema

    @property
    def explanation(self) -> Explanation:
        """The step."""
        stage = self.below
        while isinstance(stage, InStage):
            stage = stage.below
        number = stage.number if isinstance(stage, Stage) else 0
        return Explanation(self.step, (f"in stage {number}",), (self.below,))


def _add_note(node: Node, note: str) -> Explanation:
    found = explain_step(node)
    return found._replace(notes=(*found.notes, note))
