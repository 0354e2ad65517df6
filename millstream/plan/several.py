"""The nodes of joins and unions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from millstream.catalog.definitions import Equality
from millstream.catalog.schema import Schema
from millstream.language.parse.written import written
from millstream.plan.algebra import Node
from millstream.windows.join_kind import JoinKind
from millstream.windows.reach import Reach

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

    def over(self, inputs: Sequence[Node]) -> Node:
        """The same step over other inputs."""
        return Union(tuple(inputs))

    def label(self) -> str:
        """One line of EXPLAIN."""
        return "Union"


@dataclass(frozen=True)
class Unique(Node):
    """Equal tuples once: UNION without ALL. Time stamps are part of tuples, so it can forget what has passed."""

    below: Node
    names: tuple[str, ...]
    time: str
    number: int = 0

    @property
    def schema(self) -> Schema:
        """Those that make tuples equal."""
        return Schema(self.below.columns_of(self.names))

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"Unique along {self.time}"

    @property
    def remembers(self) -> str:
        """The tuples that may come again."""
        return self.label()


@dataclass(frozen=True)
class MergeOrdered(Node):
    """The tuples in the order of their time stamps, each held back until no older one can come."""

    below: Node
    time: str
    number: int = 0

    def label(self) -> str:
        """One line of EXPLAIN."""
        return f"MergeOrdered along {self.time}"

    @property
    def remembers(self) -> str:
        """The tuples that wait."""
        return self.label()


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
    residual: exp.Expression | None = None
    number: int = 0

    @property
    def inputs(self) -> tuple[Node, ...]:
        """What it reads."""
        return self.left, self.right

    def over(self, inputs: Sequence[Node]) -> Node:
        """The same step over other inputs."""
        return replace(self, left=inputs[0], right=inputs[1])

    @property
    def schema(self) -> Schema:
        """The columns of both sides, or of the left one alone where tuples are only chosen."""
        left = self.left.columns_of(self.columns[0])
        return Schema([*left, *self.right.columns_of(self.columns[1])] if self.kind.paired else left)

    def label(self) -> str:
        """One line of EXPLAIN."""
        terms = [f"{written(e.left)} = {written(e.right)}" for e in self.equalities]
        terms += [written(self.residual)] if self.residual is not None else []
        on = f" on {' and '.join(terms)}" if terms else ""
        return f"WindowJoin {self.kind.value}{on}, {self.reach.text(*self.times)}"

    @property
    def remembers(self) -> str:
        """The tuples that may still meet a partner."""
        return f"{self.label()}: {', '.join(self.columns[0])}; {', '.join(self.columns[1])}"


@dataclass(frozen=True)
class TableJoin(Node):
    """The tuples of an input with the rows of a table, as the table is when a batch begins.

    `ordered`, the tuples bear the order in which they arrived.
    """

    left: Node
    right: Node
    kind: JoinKind
    condition: exp.Expression | None = None
    equalities: tuple[Equality, ...] = ()
    ordered: bool = False

    @property
    def inputs(self) -> tuple[Node, ...]:
        """What it reads."""
        return self.left, self.right

    def over(self, inputs: Sequence[Node]) -> Node:
        """The same step over other inputs."""
        return replace(self, left=inputs[0], right=inputs[1])

    @property
    def schema(self) -> Schema:
        """The columns of both sides, or of the left one alone where tuples are only chosen."""
        return Schema([*self.left.schema, *self.right.schema]) if self.kind.paired else self.left.schema

    def label(self) -> str:
        """One line of EXPLAIN."""
        on = "" if self.condition is None else f" on {written(self.condition)}"
        return f"TableJoin {self.kind.value}{on}"
