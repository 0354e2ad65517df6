"""One thing that the state of a step depends on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from millstream.structure import Structure, from_json


@dataclass(frozen=True)
class Fact:
    """What kind of thing it is, which one, and what holds of it; the words are for readers, and are not compared.

    `words` name it, and `said` is its value as it was written.

    >>> one = Fact("key", ("column", "s", "k"), "INT", "key k", "INT")
    >>> one == Fact("key", ("column", "s", "k"), "INT", "key K", "INT")
    True
    """

    kind: str
    about: Structure
    value: Structure
    words: str = field(compare=False)
    said: str = field(default="", compare=False)

    @property
    def identity(self) -> Structure:
        """What is compared."""
        return (self.kind, self.about, self.value)

    def within(self, place: Structure, words: str = "") -> Fact:
        """The same of one of several inputs."""
        return replace(self, about=(place, self.about), words=self.words + words)

    def to_json(self) -> list[Any]:
        """The fact as JSON can hold it."""
        return [self.kind, self.about, self.value, self.words, self.said]

    @classmethod
    def from_json(cls, written: list[Any]) -> Fact:
        """The fact that was written."""
        kind, about, value, words, said = written
        return cls(str(kind), from_json(about), from_json(value), str(words), str(said))


def in_order(structure: Structure) -> str:
    """What structures are sorted by: any order will do, as long as it is always the same."""
    return json.dumps(structure)


def leaves(structure: Structure) -> Iterator[Structure]:
    """The columns of sources in a structure.

    >>> list(leaves(("key", ("add", ("column", "s", "k"), ("number", "1")))))
    [('column', 's', 'k')]
    """
    if isinstance(structure, tuple):
        if len(structure) == 3 and structure[0] == "column":
            yield structure
            return
        for part in structure:
            yield from leaves(part)


def leaves_of(facts: Iterable[Fact]) -> set[Structure]:
    """The columns of sources that facts are about."""
    return {leaf for fact in facts for leaf in leaves((fact.about, fact.value))}
