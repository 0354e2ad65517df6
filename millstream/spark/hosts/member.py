"""The members of a host and the states that they share, as they are pickled for its tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from millstream.expressions.arrow.steps import ArrowExpression
from millstream.operators.blobs import Blobs
from millstream.operators.contract import Operator
from millstream.operators.match.pattern import Pattern
from millstream.operators.tuples.lazy_rows import LazyRows
from millstream.operators.tuples.row_steps import Step
from millstream.spark.stage.feeds import Feed
from millstream.spark.stage.give_answers import give_answers
from millstream.spark.stage.ingress import Inlet
from millstream.spark.stage.unnest import Nested


class Begin(NamedTuple):
    """Where in the log of a kept stream something begins: at a position, with tuples stamped at a time or later.

    What is read of other streams has no positions: there all members of a host begin with its first batch.
    """

    position: int = 0
    time: int | None = None

    @property
    def mark(self) -> str:
        """What tells it apart, in letters and digits.

        >>> Begin(17).mark, Begin(17, -5).mark
        ('17', '17_m5')
        """
        return f"{self.position}" if self.time is None else f"{self.position}_{self.time}".replace("-", "m")


FIRST = Begin()
"""With all that the host reads."""


@dataclass(frozen=True)
class SharedState:
    """An operator that answers for one member or for several: `before` leads from tuples to what its inlet takes.

    `read` are the columns of the stream that this reads, from where it begins.
    """

    id: str
    read: pa.Schema
    inlet: Inlet
    before: tuple[Step, ...]
    feed: Feed
    make: Callable[[Blobs], Operator]
    begin: Begin = FIRST


@dataclass(frozen=True)
class Answers:
    """What a member makes of the answers of an operator: those of one of its `window`s, if it has several.

    `names` are the columns that the operator knows by other names, `schema` those that its stage would give to Spark.
    """

    schema: pa.Schema
    above: tuple[Step, ...]
    names: Mapping[str, str] = field(default_factory=dict)
    lists: tuple[Nested, ...] = ()
    holds: ArrowExpression | None = None
    window: str | None = None

    def of(self, answers: pa.Table) -> pa.Table:
        """The rows of the member."""
        rows = give_answers(answers, self.names, self.lists, self.holds)
        there = set(rows.column_names)
        columns = {f.name: rows[f.name].cast(f.type) for f in self.schema if f.name in there}
        columns |= {f.name: pa.nulls(rows.num_rows, f.type) for f in self.schema if f.name not in there}
        lazy = LazyRows.of(pa.table(columns))
        for step in self.above:
            lazy = step(lazy, ())
        return lazy.table()


@dataclass(frozen=True)
class Member:
    """A query in a host. Without `state`, `before` leads from tuples to its rows, and `read` are the columns read.

    Those with equal `pattern`s differ in constants alone.
    """

    id: str
    name: str
    columns: pa.Schema
    read: pa.Schema = field(default_factory=lambda: pa.schema([]))
    before: tuple[Step, ...] = ()
    state: str | None = None
    answers: Answers | None = None
    begin: Begin = FIRST
    pattern: Pattern | None = None


@dataclass(frozen=True)
class BatchMembers:
    """The members that a batch is for, and their states. `gone` are states that nobody needs any more."""

    members: tuple[Member, ...] = ()
    states: tuple[SharedState, ...] = ()
    gone: frozenset[str] = frozenset()

    def of_state(self, state: str) -> Iterator[Member]:
        """The members that a state answers for."""
        return (member for member in self.members if member.state == state)

    @property
    def stateless(self) -> tuple[Member, ...]:
        """The members that need no stage."""
        return tuple(member for member in self.members if member.state is None)
