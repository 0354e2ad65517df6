"""Promises to groups of several streams read as one: a group is as far as in the slowest of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from millstream.progress.group_table import NAMED, UNTIL, Group, by_names, from_table, group_of, to_table
from millstream.progress.low_watermark import LowWatermark
from millstream.progress.meld import Meld

PART = "__part"
"""In the record: the number of the stream that has promised."""


class GroupMeld:
    """What the streams have promised together.

    A stream keeps to its low-watermark for every group, and for some to a promise that is ahead of that. A promise that
    names fewer columns holds for every finer group. All that is to be remembered are the promises ahead.

    >>> first, second = LowWatermark(slack=None), LowWatermark(slack=5)
    >>> meld = GroupMeld([first, second])
    >>> a = to_table({(("k", "a"),): 30}, {"k": pa.string()})
    >>> meld.promised(0, a)
    >>> meld.risen()  # of the second stream nothing is known
    []
    >>> second.saw(oldest=1, newest=20)
    >>> meld.risen()
    [((('k', 'a'),), 15)]
    >>> meld.promised(1, a)
    >>> meld.risen(), meld.risen()
    ([((('k', 'a'),), 30)], [])
    """

    def __init__(self, parts: Sequence[LowWatermark]) -> None:
        self._parts = parts
        self._ahead: list[dict[Group, int]] = [{} for _ in parts]
        self._types: dict[str, pa.DataType] = {}
        self._said: dict[Group, int] = {}
        self.changed = False
        """Whether the record is another one than when this was last set to False."""

    def promised(self, part: int, promises: pa.Table) -> None:
        """Take note of promises of one of the streams."""
        self._learn(promises.schema)
        ahead, low = self._ahead[part], self._parts[part].time
        for group, until in from_table(promises).items():
            if until > ahead.get(group, until - 1) and (low is None or until > low):
                ahead[group] = until
                self.changed = True

    def risen(self) -> list[tuple[Group, int]]:
        """The promises of all together that are further than what was said before, and than the low-watermark."""
        if not any(self._ahead):
            return []
        self._forget()
        before, self._said = by_names(self._said), self._melted()
        return [(group, until) for group, until in self._said.items() if _is_news(group, until, before)]

    @property
    def record(self) -> pa.Table | None:
        """What must be remembered; None if that is nothing."""
        if not any(self._ahead):
            return None
        tables = [to_table(ahead, self._types) for ahead in self._ahead]
        numbered = [t.append_column(PART, pa.array([n] * len(t), pa.int64())) for n, t in enumerate(tables)]
        return pa.concat_tables(numbered)

    def restore(self, record: pa.Table) -> None:
        """Go on from what was remembered; the low-watermarks must be there already."""
        parts = record[PART].to_numpy()
        record = record.drop_columns([PART])
        self._learn(record.schema)
        self._ahead = [from_table(record.filter(pa.array(parts == part))) for part in range(len(self._parts))]
        self._said = self._melted()

    def _learn(self, schema: pa.Schema) -> None:
        self._types.update((field.name, field.type) for field in schema if field.name not in {NAMED, UNTIL})

    def _forget(self) -> None:
        """Let go of promises that their own stream has passed."""
        for number, part in enumerate(self._parts):
            ahead, low = self._ahead[number], part.time
            if low is not None and any(until <= low for until in ahead.values()):
                self._ahead[number] = {group: until for group, until in ahead.items() if until > low}
                self.changed = True

    def _melted(self) -> dict[Group, int]:
        """What all promise, of groups for which it is ahead of the low-watermark of all."""
        floor = Meld(self._parts).time
        melted: dict[Group, int] | None = None
        for part, ahead in zip(self._parts, self._ahead, strict=True):
            choices = ahead if part.time is None else {(): part.time, **ahead}
            melted = choices if melted is None else _met(melted, choices, floor)
        return {group: until for group, until in (melted or {}).items() if group and (floor is None or until > floor)}


def _is_news(group: Group, until: int, said: Mapping[tuple[str, ...], Mapping[Group, int]]) -> bool:
    """Whether nothing said so far, of the group or of a coarser one, promises as much.

    A coarser promise may have been all that was left of one to the group itself.

    >>> said = by_names({(("k", 1),): 5})
    >>> _is_news((("k", 1), ("n", 2)), 5, said), _is_news((("k", 1), ("n", 2)), 6, said)
    (False, True)
    """
    names = {name for name, _ in group}
    coarser = (
        promises.get(tuple(pair for pair in group if pair[0] in named), until - 1)
        for named, promises in said.items()
        if names.issuperset(named)
    )
    return all(until > told for told in coarser)


def _met(ours: Mapping[Group, int], theirs: Mapping[Group, int], floor: int | None) -> dict[Group, int]:
    """The groups that are in one of ours and one of theirs, with the lesser of both times; none up to the floor.

    >>> _met({(("a", 1),): 5, (("a", 2),): 6}, {(): 2, (("a", 2),): 9, (("b", 3),): 4}, floor=2)
    {(('a', 2),): 6, (('a', 1), ('b', 3)): 4, (('a', 2), ('b', 3)): 4}
    """
    met: dict[Group, int] = {}
    sides = [by_names({g: t for g, t in side.items() if floor is None or t > floor}) for side in (ours, theirs)]
    for names, mine in sides[0].items():
        for other_names, others in sides[1].items():
            shared = [name for name in names if name in other_names]
            partners: dict[tuple[Any, ...], list[Group]] = {}
            for other in others:
                partners.setdefault(_values(other, shared), []).append(other)
            for group, until in mine.items():
                for other in partners.get(_values(group, shared), ()):
                    both, least = group_of({*group, *other}), min(until, others[other])
                    met[both] = max(least, met.get(both, least))
    return met


def _values(group: Group, names: Sequence[str]) -> tuple[Any, ...]:
    values = dict(group)
    return tuple(values[name] for name in names)
