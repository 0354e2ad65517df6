"""The steps that only a bounded input has: they must have seen all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from millstream.catalog.select import SortKey
from millstream.expressions.words import words
from millstream.plan.algebra import Node
from millstream.plan.fingerprint.fact import Fact
from millstream.plan.fingerprint.lineage import Lineage


@dataclass(frozen=True)
class Sort(Node):
    """The rows of a bounded input in order."""

    below: Node
    terms: tuple[SortKey, ...]

    def label(self) -> str:
        """One line of EXPLAIN."""
        return "Sort " + ", ".join(map(_words, self.terms))

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Where its columns come from and what its rows depend on."""
        terms = tuple((inputs[0].structure(t.value), t.descending, t.nulls_first) for t in self.terms)
        return inputs[0].with_facts([Fact("order", terms, None, self.label())])


@dataclass(frozen=True)
class Distinct(Node):
    """The rows of a bounded input, each once."""

    below: Node

    def label(self) -> str:
        """One line of EXPLAIN."""
        return "Distinct"

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Where its columns come from and what its rows depend on."""
        columns = tuple(column.structure for column in inputs[0].columns.values())
        return inputs[0].with_facts([Fact("distinct", columns, None, "DISTINCT")])


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

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Where its columns come from and what its rows depend on."""
        (below,) = inputs
        chosen = replace(below, facts=tuple(fact.within("limited") for fact in below.facts))  # conditions come before
        return chosen.with_facts([Fact("limit", (self.limit, self.offset), None, self.label())])


def _words(term: SortKey) -> str:
    text = words(term.value) + (" DESC" if term.descending else "")
    return (
        text if term.nulls_first is not term.descending else f"{text} NULLS {'FIRST' if term.nulls_first else 'LAST'}"
    )
