"""Reaches say of pairs of times what their definitions say, at the ends of time too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import SettingError
from millstream.windows.reach import LEAST, MOST, Band, Reach, SameTumble
from tests.drawing import drawn

BOUNDS = st.none() | st.integers(-12, 12)
BANDS = st.builds(Band, BOUNDS, BOUNDS)
TUMBLES = st.builds(SameTumble, st.integers(1, 12), st.integers(-20, 20))
TIMES = st.lists(st.integers(-40, 40), min_size=1, max_size=8)

some = drawn(50)


def joins(reach: Reach, left: int, right: int) -> bool:
    if isinstance(reach, SameTumble):
        return (left - reach.origin) // reach.length == (right - reach.origin) // reach.length
    assert isinstance(reach, Band)
    distance = right - left
    return (reach.low is None or reach.low <= distance) and (reach.high is None or distance <= reach.high)


def of_port(port: int, own: int, other: int) -> tuple[int, int]:
    return (own, other) if port == 0 else (other, own)


@some
@given(reach=BANDS | TUMBLES, port=st.integers(0, 1), times=TIMES)
def test_partners_are_those_that_join(reach: Reach, port: int, times: list[int]) -> None:
    first, last = reach.partners(port, np.array(times))
    for time, low, high in zip(times, first.tolist(), last.tolist(), strict=True):
        for other in range(-80, 80):
            assert (low <= other <= high) == joins(reach, *of_port(port, time, other))


@some
@given(reach=BANDS | TUMBLES, port=st.integers(0, 1), mark=st.integers(-40, 40))
def test_the_oldest_that_can_be_met(reach: Reach, port: int, mark: int) -> None:
    oldest = reach.oldest(port, mark)
    times = np.arange(-80, 80)
    first, last = reach.partners(port, times)
    reaches = last >= mark
    assert reaches.tolist() == [oldest is None or t >= oldest for t in times.tolist()]
    met = [t for t in times.tolist() if any(joins(reach, *of_port(port, t, o)) for o in range(mark, 240))]
    if oldest is not None and (first <= last).all():
        assert min(met) == oldest


@some
@given(reach=BANDS | TUMBLES, left=st.integers(-9, 9), right=st.integers(-9, 9))
def test_promises_are_kept_by_all_pairs_to_come(reach: Reach, left: int, right: int) -> None:
    promises = reach.promises(left, right)
    for one in range(-50, 50):
        for other in range(-50, 50):
            if joins(reach, one, other) and (one >= left or other >= right):
                assert promises.left is None or one >= promises.left
                assert promises.right is None or other >= promises.right
                assert promises.joint is not None
                assert max(one, other) >= promises.joint


@pytest.mark.parametrize("shift", [5, -5, 2**62, -(2**62), 2**70, -(2**70)])
@pytest.mark.parametrize("port", [0, 1])
def test_the_ends_of_time_do_not_overflow(shift: int, port: int) -> None:
    times = np.array([LEAST, LEAST + 1, 0, MOST - 1, MOST])
    first, last = Band(shift, shift).partners(port, times)
    shift = shift if port == 0 else -shift
    expected = [max(LEAST, min(MOST, t + shift)) for t in times.tolist()]
    assert first.tolist() == last.tolist() == expected
    assert LEAST <= (Band(shift, shift).oldest(port, MOST) or 0) <= MOST
    first, last = SameTumble(10).partners(port, times)
    assert (first <= times).all()
    assert (last >= times).all()


def test_width_is_that_of_the_partners() -> None:
    assert [r.width for r in (Band(-5, 10), Band(None, 3), Band(5, 3), SameTumble(7))] == [15, None, 0, 7]


def test_a_window_has_a_length() -> None:
    with pytest.raises(SettingError, match="length of a window"):
        SameTumble(0)
