"""The fingerprint of a step with state: two steps that have the same one have the same state over the same input."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from millstream.plan.fingerprint.fact import Fact, in_order


@dataclass(frozen=True)
class Fingerprint:
    """What kind of step it is, the version of its state's format, all that the state depends on, and what is below.

    Spelling, qualifiers, the names and the order of the answers, and whatever reads the answers are no part of it.
    `below` are the ids of the steps with state that it reads.
    """

    step: str
    format: int
    facts: tuple[Fact, ...]
    below: tuple[str, ...] = ()

    @classmethod
    def of(cls, step: str, version: int, facts: Iterable[Fact], below: Iterable[str]) -> Fingerprint:
        """The fingerprint of facts in any order. To say one twice says nothing, but columns are then kept twice."""
        found: list[Fact] = []
        for fact in sorted(facts, key=lambda fact: in_order(fact.identity)):
            if fact.kind == "column" or fact not in found[-1:]:
                found.append(fact)
        return cls(step, version, tuple(found), tuple(below))

    @cached_property
    def id(self) -> str:
        """A short name for it."""
        identity = [self.step, self.format, [fact.identity for fact in self.facts], self.below]
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """The fingerprint as JSON can hold it."""
        facts = [fact.to_json() for fact in self.facts]
        return {"id": self.id, "step": self.step, "format": self.format, "facts": facts, "below": list(self.below)}

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> Fingerprint:
        """The fingerprint that was written."""
        facts = tuple(map(Fact.from_json, written["facts"]))
        return cls(str(written["step"]), int(written["format"]), facts, tuple(map(str, written["below"])))
