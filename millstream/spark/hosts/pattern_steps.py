"""The steps of members without state: those that differ in constants alone are looked up, others share steps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

import pyarrow as pa

from millstream.operators.match.pattern import PatternGroup
from millstream.spark.hosts.common_steps import CommonSteps, key_of
from millstream.spark.hosts.member import Member

MANY = 8
"""Of so many members on, it pays to look up which of them a tuple is for."""

RECENT = 16
"""Of so many lots of members a process remembers what it has made."""

T = TypeVar("T")


def by_pattern(members: Iterable[Member]) -> list[list[Member]]:
    """The members that are looked up together."""
    groups: dict[Hashable, list[Member]] = {}
    for member in members:
        if (one := member.pattern) is not None:
            key = key_of((one.terms, one.asks, one.before, one.after)), one.constants.schema, member.columns
            groups.setdefault(key, []).append(member)
    return [group for group in groups.values() if len(group) >= MANY]


class _Group:
    """Members of one pattern, with the way of each if they cannot be looked up."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = members
        self._looked_up = PatternGroup({m.id: m.pattern for m in members if m.pattern is not None})
        self._each: CommonSteps | None = None

    def rows(self, tuples: pa.Table) -> tuple[dict[str, pa.Table], dict[str, Exception]]:
        try:
            found = self._looked_up.rows(tuples)
        except Exception:  # it may be of one member: each is tried by itself, and says so
            found = None
        if found is not None:
            return {who: pa.concat_tables(tables) for who, tables in found.items()}, {}
        if self._each is None:
            self._each = CommonSteps({member.id: member.before for member in self._members})
        return self._each.rows(tuples)


class PatternSteps:
    """The steps of all members without state."""

    def __init__(self, members: Sequence[Member]) -> None:
        groups = by_pattern(members)
        looked_up = {member.id for group in groups for member in group}
        others = CommonSteps({m.id: m.before for m in members if m.id not in looked_up})
        self._parts: list[_Group | CommonSteps] = [*map(_Group, groups), others]

    def rows(self, tuples: pa.Table) -> tuple[dict[str, pa.Table], dict[str, Exception]]:
        """The rows of each member, or why it has none."""
        found: dict[str, pa.Table] = {}
        failed: dict[str, Exception] = {}
        for part in self._parts:
            some, problems = part.rows(tuples)
            found |= some
            failed |= problems
        return found, failed


class _Recent(Generic[T]):
    """What was made of some members, as long as they are the same ones, which seldom change."""

    def __init__(self, make: Callable[[tuple[Member, ...]], T]) -> None:
        self._make = make
        self._known: OrderedDict[tuple[int, ...], tuple[tuple[Member, ...], T]] = OrderedDict()

    def __call__(self, members: tuple[Member, ...]) -> T:
        key = tuple(map(id, members))
        found = self._known.pop(key, None) or (members, self._make(members))
        self._known[key] = found
        if len(self._known) > RECENT:
            self._known.popitem(last=False)
        return found[1]


def _names_alike(members: tuple[Member, ...]) -> dict[str, list[str]]:
    return {member.id: [other.name for other in group] for group in by_pattern(members) for member in group}


steps_for = _Recent(PatternSteps)
"""The steps of some members, made once in a process."""

names_alike = _Recent(_names_alike)
"""For each member that is looked up, by its id, the names of all that are looked up together."""
