"""The node that joins tuples with the registrations of a template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.catalog.schema import Column, Schema, type_name
from millstream.catalog.select import RegistrationColumn
from millstream.expressions.tree import Value
from millstream.expressions.words import words as words_of
from millstream.plan.algebra import Node
from millstream.plan.fingerprint import facts
from millstream.plan.fingerprint.fact import Fact
from millstream.plan.fingerprint.lineage import ColumnLineage, Lineage


@dataclass(frozen=True)
class MatchRegistrations(Node):
    """The tuples with each registration that they meet, among those that hold when a batch begins.

    `columns` are those of registrations as they are called here, and what they are called there: their number, which is
    `registration` here, and their parameters. `gives` are those that anything above reads (None: all).
    """

    below: Node
    template: str
    registration: str
    columns: tuple[RegistrationColumn, ...]
    condition: Value | None
    gives: frozenset[str] | None = None

    @property
    def given(self) -> Schema:
        """The columns of registrations that it gives."""
        return Schema(i.column for i in self.columns if self.gives is None or i.name in self.gives)

    @property
    def schema(self) -> Schema:
        """Those of the tuples, and those of registrations."""
        return Schema([*self.below.schema, *self.given])

    @property
    def parameters(self) -> tuple[Column, ...]:
        """The parameters, as they are called here."""
        return tuple(item.column for item in self.columns if item.name != self.registration)

    def label(self) -> str:
        """One line of EXPLAIN."""
        on = "" if self.condition is None else f" on {words_of(self.condition)}"
        return f"MatchRegistrations {self.template} ({', '.join(map(str, self.parameters))}){on}"

    def lineage(self, inputs: Sequence[Lineage]) -> Lineage:
        """Registrations are data: who they are is no part of what a step above depends on."""
        (below,) = inputs
        known: dict[str, ColumnLineage] = {}
        kinds = []
        for item in self.columns:
            leaf = ("parameter", item.own.lower())
            known[item.name.lower()] = ColumnLineage.of(leaf, item.type)
            kinds.append((leaf[1], type_name(item.type)))
        words = ", ".join(f"{name} {kind}" for name, kind in kinds[1:])
        registered = Fact("registrations", None, tuple(kinds), "the parameters", words)
        both = below.with_facts([registered]).with_columns({**below.columns, **known})
        return both.with_facts(facts.conditions(both, self.condition))
