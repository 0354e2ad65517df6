"""The lineage of a step: each column traced to its sources, and the conditions on its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from millstream.catalog.schema import SqlType, type_name
from millstream.expressions.tree import Value
from millstream.plan.fingerprint.expressions import structure_of
from millstream.plan.fingerprint.fact import Fact, leaves_of
from millstream.plan.fingerprint.fingerprint import Fingerprint
from millstream.structure import Structure


class ColumnLineage(NamedTuple):
    """What a column is made of, and its type."""

    structure: Structure
    type: str

    @classmethod
    def of(cls, structure: Structure, type_: SqlType) -> ColumnLineage:
        """The column of that type."""
        return cls(structure, type_name(type_))


@dataclass(frozen=True)
class Lineage:
    """The columns of a step by their names in small letters, and what its rows depend on.

    `facts` are those since the last steps with state, whose fingerprints are `steps`, those further below first.
    `types` are those of the columns of sources.
    """

    columns: Mapping[str, ColumnLineage] = field(default_factory=dict)
    facts: tuple[Fact, ...] = ()
    steps: tuple[Fingerprint, ...] = ()
    types: Mapping[Structure, str] = field(default_factory=dict)

    def structure(self, expression: Value) -> Structure:
        """What an expression over the columns computes."""
        return structure_of(expression, self._structures)

    @cached_property
    def _structures(self) -> Mapping[str, Structure]:
        return {name: column.structure for name, column in self.columns.items()}

    def column(self, name: str) -> ColumnLineage:
        """A column by its name."""
        return self.columns[name.lower()]

    def with_columns(self, columns: Mapping[str, ColumnLineage]) -> Lineage:
        """The same rows with other columns."""
        return replace(self, columns={name.lower(): column for name, column in columns.items()})

    def with_facts(self, facts: Iterable[Fact]) -> Lineage:
        """The rows of which this holds, too."""
        return replace(self, facts=(*self.facts, *facts))

    def within(self, place: Structure, words: str = "") -> Lineage:
        """The same as one of several inputs."""
        columns = {name: ColumnLineage((place, column.structure), column.type) for name, column in self.columns.items()}
        return replace(self, columns=columns, facts=tuple(fact.within(place, words) for fact in self.facts))


def combine(inputs: Sequence[Lineage], columns: Mapping[str, ColumnLineage]) -> Lineage:
    """The rows that are made of several inputs."""
    facts = tuple(fact for each in inputs for fact in each.facts)
    steps = tuple(step for each in inputs for step in each.steps)
    return Lineage(columns, facts, steps, {leaf: kind for each in inputs for leaf, kind in each.types.items()})


def take_fingerprint(
    below: Lineage, step: str, version: int, facts: Iterable[Fact], answers: Mapping[str, ColumnLineage]
) -> Lineage:
    """The answers of a step with state, which depends on these facts and on all below; each is told by what it is."""
    every = [*facts, *below.facts]
    read = [
        Fact("source column", leaf, below.types[leaf], f"column {_name(leaf)}", below.types[leaf])
        for leaf in leaves_of(every)
        if leaf in below.types
    ]
    made = Fingerprint.of(step, version, [*every, *read], (each.id for each in below.steps))
    columns = {name.lower(): ColumnLineage(("of", made.id, a.structure), a.type) for name, a in answers.items()}
    return Lineage(columns, (), (*below.steps, made))


def _name(leaf: Structure) -> str:
    """A column of a source in words."""
    assert isinstance(leaf, tuple)  # noqa: S101  (leaves are)
    return f"{leaf[2]} of {leaf[1]}"
