"""Promises of several streams to groups: together they say what each group's slowest stream does, and say it once."""

from __future__ import annotations

from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.progress.group_meld import GroupMeld
from millstream.progress.group_table import Group, from_table, group_of, to_table
from millstream.progress.low_watermark import LowWatermark
from millstream.progress.meld import Meld
from tests.drawing import drawn

TYPES = {"k": pa.float64(), "n": pa.string()}
VALUES = {"k": [1.0, float("nan")], "n": ["x", "y", None]}
KEYS = [group_of(zip(VALUES, values, strict=True)) for values in product(*VALUES.values())]
"""All groups that name both columns."""

GROUPS = st.sets(st.sampled_from(["k", "n"]), min_size=1).flatmap(
    lambda names: st.tuples(*[st.tuples(st.just(n), st.sampled_from(VALUES[n])) for n in sorted(names)]).map(group_of)
)
PROMISES = st.lists(st.tuples(st.integers(0, 2), GROUPS, st.integers(0, 30)), max_size=4)
MARKS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30)), max_size=2)


NEVER = -100
"""Before all times, for streams of which nothing is known."""


def finer(key: Group, group: Group) -> bool:
    return set(group) <= set(key)


def marks_of(parts: list[LowWatermark]) -> list[int]:
    return [NEVER if part.time is None else part.time for part in parts]


@drawn(300)
@given(batches=st.lists(st.tuples(PROMISES, MARKS), min_size=1, max_size=8), restarts=st.booleans())
def test_equals_the_definition(batches: list[tuple[Any, Any]], restarts: bool) -> None:
    def fresh() -> list[LowWatermark]:
        # A source, one that is never punctuated as a whole, and a stage of two buckets.
        return [LowWatermark(slack=3), LowWatermark(slack=None), LowWatermark(slack=None, origins=2)]

    parts = fresh()
    meld = GroupMeld(parts)
    made: list[list[tuple[Group, int]]] = [[], [], []]
    said: dict[Group, int] = {}
    kept: pa.Table | None = None
    for promises, marks in batches:
        for number, mark in marks:
            if number == 0:
                parts[0].saw(mark, mark)
            elif number == 1:
                parts[1].promised(mark)
            else:
                parts[2].promised(mark, origin=mark % 2)
        for number, group, until in promises:
            meld.promised(number, to_table({group: until}, TYPES))
            made[number].append((group, until))
        lows = marks_of(parts)
        for group, until in meld.risen():
            assert until > max(min(lows), said.get(group, NEVER)), "nothing new"
            said[group] = until
        for key in KEYS:
            expected = min(
                max([low, *(until for group, until in mine if finer(key, group))])
                for low, mine in zip(lows, made, strict=True)
            )
            told = max([min(lows), *(until for group, until in said.items() if finer(key, group))])
            assert told == max(expected, min(lows)), key
        if meld.changed:
            kept, meld.changed = meld.record, False
        assert (kept is not None) == any(u > lows[n] for n, mine in enumerate(made) for _, u in mine)
        if restarts:
            records, parts = [part.record for part in parts], fresh()
            for part, record in zip(parts, records, strict=True):
                part.restore(record)
            meld = GroupMeld(parts)
            if kept is not None:
                meld.restore(kept)
            assert meld.risen() == []
            assert not meld.changed
    assert Meld(parts).time == (min(lows) if min(lows) > NEVER else None)


def test_a_promise_is_not_said_again_when_a_coarser_one_stood_for_it_in_between() -> None:
    parts = [LowWatermark(slack=3), LowWatermark(slack=None)]
    meld = GroupMeld(parts)
    coarse, fine = group_of([("k", 1.0)]), group_of([("k", 1.0), ("n", "x")])
    for part in (0, 1):
        meld.promised(part, to_table({coarse: 0}, TYPES))
    meld.promised(0, to_table({fine: 0}, TYPES))
    assert dict(meld.risen()) == {coarse: 0, fine: 0}
    parts[0].saw(3, 3)
    assert meld.risen() == []
    meld.promised(0, to_table({fine: 1}, TYPES))
    assert meld.risen() == []
    meld.promised(1, to_table({fine: 1}, TYPES))
    assert meld.risen() == [(fine, 1)]


@pytest.mark.parametrize("value", [None, float("nan"), -0.0, "a", b"\0", 2**62])
def test_values_of_any_kind_name_one_group(value: Any) -> None:
    type_ = pa.int64() if value is None else pa.scalar(value).type
    parts = [LowWatermark(slack=None), LowWatermark(slack=None)]
    meld = GroupMeld(parts)
    meld.promised(0, to_table({(("k", value),): 7}, {"k": type_}))
    other = 0.0 if value == 0 and isinstance(value, float) else value
    meld.promised(1, to_table({(("k", other),): 9}, {"k": type_}))
    assert [until for _, until in meld.risen()] == [7]
    assert meld.record is not None
    assert len(from_table(meld.record.drop_columns(["__part"]))) == 1


def test_nothing_is_to_be_kept_of_streams_without_promises_to_groups() -> None:
    meld = GroupMeld([LowWatermark(slack=0), LowWatermark(slack=0)])
    assert meld.risen() == []
    assert meld.record is None
    assert not meld.changed
