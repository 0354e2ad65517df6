"""The nodes of joins and unions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from millstream.catalog.schema import Schema, type_name
from millstream.catalog.select import Equality
from millstream.expressions.tree import Value
from millstream.expressions.words import words
from millstream.operators.join.window_join import WindowJoin as WindowJoinOperator
from millstream.operators.ordered.merge_ordered import MergeOrdered as MergeOrderedTuples
from millstream.operators.tuples.unique_tuples import UniqueTuples
from millstream.plan.algebra import Node
from millstream.plan.fingerprint import facts
from millstream.plan.fingerprint.fact import Fact
from millstream.plan.fingerprint.lineage import ColumnLineage, Lineage, combine, take_fingerprint
from millstream.windows.join_kind import JoinKind
from millstream.windows.reach import Reach

SIDES = ("left", "right")

JOINT = "greatest of both time stamps"
"""What the joint punctuation of a join is about [Li 2008, figures 7-3 to 7-5]."""


@dataclass(frozen=True)
class Union(Node):
    """The tuples of several inputs with the same columns, as they come."""

    parts: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        """What it reads."""
        return self.parts

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same step over other inputs."""
        return Union(tuple(inputs))

    def label(self) -> str:
        """One line of EXPLAIN."""
        return "Union"

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Where its columns come from and what its rows depend on."""
        names = list(inputs[0].columns)
        columns = {
            name: ColumnLineage(
                ("either", *(each.columns[name].structure for each in inputs)), inputs[0].columns[name].type
            )
            for name in names
        }
        parts = [each.within(("part", i), f" (SELECT {i + 1})") for i, each in enumerate(inputs)]
        return combine(parts, columns)


@dataclass(frozen=True)
class TupleStage(Node):
    """A step that lets tuples pass, or holds them back; its state is these tuples, with the columns `names`."""

    below: Node
    names: tuple[str, ...]
    time: str
    number: int = 0
    clause: ClassVar[str]
    format: ClassVar[int]

    @property
    def schema(self) -> Schema:
        """The columns that the state holds."""
        return Schema(self.below.columns_of(self.names))

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"{type(self).__name__} along {self.time}"

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Its state depends on these columns and on the time stamp."""
        (below,) = inputs
        known = [*facts.columns(below, self.names), facts.time(below, self.time)]
        return take_fingerprint(below, self.clause, self.format, known, below.columns)


@dataclass(frozen=True)
class Unique(TupleStage):
    """Equal tuples once: UNION without ALL. Time stamps are part of tuples, so it can forget what has passed."""

    clause = "UNION"
    format = UniqueTuples.format


@dataclass(frozen=True)
class MergeOrdered(TupleStage):
    """The tuples in the order of their time stamps, each held back until no older one can come."""

    clause = "MERGE ORDERED"
    format = MergeOrderedTuples.format


@dataclass(frozen=True)
class WindowJoin(Node):
    """Pairs of tuples that are close enough in time, and what the kind of the join makes of those without a partner.

    `columns` are those that anything above reads, of each side.
    """

    left: Node
    right: Node
    kind: JoinKind
    reach: Reach
    times: tuple[str, str]
    columns: tuple[tuple[str, ...], tuple[str, ...]]
    equalities: tuple[Equality, ...] = ()
    residual: Value | None = None
    number: int = 0

    @property
    def inputs(self) -> tuple[Node, ...]:
        """What it reads."""
        return self.left, self.right

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same step over other inputs."""
        return replace(self, left=inputs[0], right=inputs[1])

    @property
    def schema(self) -> Schema:
        """The columns of both sides, or of the left one alone where tuples are only chosen."""
        left = self.left.columns_of(self.columns[0])
        return Schema([*left, *self.right.columns_of(self.columns[1])] if self.kind.paired else left)

    def label(self) -> str:
        """One line of EXPLAIN."""
        terms = [f"{words(e.left)} = {words(e.right)}" for e in self.equalities]
        terms += [words(self.residual)] if self.residual is not None else []
        on = f" on {' and '.join(terms)}" if terms else ""
        return f"WindowJoin {self.kind.value}{on}, {self.reach.text(*self.times)}"

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Its state is the tuples that may still meet a partner."""
        sides = [below.within(side) for below, side in zip(inputs, SIDES, strict=True)]
        known = [
            Fact("join", None, self.kind.value, "the join", self.kind.value),
            Fact("window", None, self.reach.structure, "the window", self.reach.text(*self.times)),
        ]
        for equal in self.equalities:
            terms = tuple(s.structure(e) for s, e in zip(sides, (equal.left, equal.right), strict=True))
            kind = type_name(equal.type)
            known.append(Fact("key", terms, kind, f"key {words(equal.left)} = {words(equal.right)}", kind))
        carried = []
        for side, below, names, time in zip(SIDES, sides, self.columns, self.times, strict=True):
            known += [*facts.columns(below, names), facts.time(below, time).within(side, f" of the {side} input")]
            carried.append(below.with_columns({name: below.column(name) for name in names}))
        answers = combine(carried, {**carried[0].columns, **carried[1].columns})
        known += facts.conditions(answers, self.residual)
        return take_fingerprint(combine(sides, {}), "join", WindowJoinOperator.format, known, answers.columns)


@dataclass(frozen=True)
class TableJoin(Node):
    """The tuples of an input with the rows of a table, as the table is when a batch begins.

    `ordered`, the tuples bear the order in which they arrived.
    """

    left: Node
    right: Node
    kind: JoinKind
    condition: Value | None = None
    equalities: tuple[Equality, ...] = ()
    ordered: bool = False

    @property
    def inputs(self) -> tuple[Node, ...]:
        """What it reads."""
        return self.left, self.right

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same step over other inputs."""
        return replace(self, left=inputs[0], right=inputs[1])

    @property
    def schema(self) -> Schema:
        """The columns of both sides, or of the left one alone where tuples are only chosen."""
        return Schema([*self.left.schema, *self.right.schema]) if self.kind.paired else self.left.schema

    def label(self) -> str:
        """One line of EXPLAIN."""
        on = "" if self.condition is None else f" on {words(self.condition)}"
        return f"TableJoin {self.kind.value}{on}"

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Where its columns come from and what its rows depend on."""
        left, right = inputs
        place = ("joined", sum(fact.kind == "table join" for fact in left.facts))
        right = right.within(place)
        both = combine([left, right], {**left.columns, **right.columns})
        join = Fact("table join", place, self.kind.value, "the join with a table", self.kind.value)
        columns = both.columns if self.kind.paired else left.columns
        terms = list(facts.conditions(both, self.condition))
        if self.kind is not JoinKind.INNER:  # what ON says of those is not what WHERE would say
            terms = [replace(term, kind="join condition", about=(place, term.about)) for term in terms]
        return both.with_facts([join, *terms]).with_columns(columns)
