"""Laws that every kind of window keeps, over any parameters, ties, negative times and orders of arrival."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import SettingError
from millstream.windows import (
    Cumulate,
    Landmark,
    Over,
    OverRange,
    OverRows,
    Paned,
    Rows,
    Session,
    SlideByTuple,
    Sliding,
    Tuple,
    Window,
)
from millstream.windows.tuples import Ints
from tests.drawing import drawn
from tests.windows.kinds import DRAWN, MOVING_OVER_PANES, ORIGINS, SIZES, streams

SLIDING, CUMULATE, LANDMARK = DRAWN[Sliding], DRAWN[Cumulate], DRAWN[Landmark]
SESSION, ROWS, SLIDE_BY_TUPLE = DRAWN[Session], DRAWN[Rows], DRAWN[SlideByTuple]

some = drawn(35)
every_kind = pytest.mark.parametrize("windows", DRAWN.values(), ids=[kind.__name__ for kind in DRAWN])
every_paned_kind = pytest.mark.parametrize(
    "windows", MOVING_OVER_PANES.values(), ids=[kind.__name__ for kind in MOVING_OVER_PANES]
)


def columns(tuples: list[Tuple]) -> tuple[Ints, Ints, np.ndarray[Any, Any]]:
    """Times, rows and keys as arrays."""
    times = np.array([t.time for t in tuples], dtype=np.int64)
    rows = np.array([t.row for t in tuples], dtype=np.int64)
    return times, rows, np.array([t.key for t in tuples], dtype=str)


def ranks_by_time(window: Window[Any]) -> bool:
    """Whether numbers only decide between tuples of one time, so that a later one may have a smaller number."""
    return getattr(window, "order", "rank") == "rank"


def rows_of(tuples: list[Tuple]) -> set[int]:
    return {t.row for t in tuples}


@every_kind
@some
@given(data=st.data(), tuples=streams())
def test_a_tuple_is_in_the_extents_of_its_wids_and_in_no_other(
    windows: st.SearchStrategy[Window[Any]], data: st.DataObject, tuples: list[Tuple]
) -> None:
    window = data.draw(windows)
    ids = {t.row: set(window.wids(t, tuples)) for t in tuples}
    for wid in window.windows(tuples):
        assert rows_of(window.extent(wid, tuples)) == {row for row, wids in ids.items() if wid in wids}


@every_kind
@some
@given(data=st.data(), tuples=streams())
def test_the_windows_are_the_wids_of_all_tuples(
    windows: st.SearchStrategy[Window[Any]], data: st.DataObject, tuples: list[Tuple]
) -> None:
    window = data.draw(windows)
    assert window.windows(tuples) == {w for t in tuples for w in window.wids(t, tuples)}
    assert all(window.extent(w, tuples) for w in window.windows(tuples))


@every_kind
@some
@given(data=st.data(), tuples=streams())
def test_the_order_in_which_tuples_are_given_does_not_matter(
    windows: st.SearchStrategy[Window[Any]], data: st.DataObject, tuples: list[Tuple]
) -> None:
    window = data.draw(windows)
    again = data.draw(st.permutations(tuples))
    assert window.windows(tuples) == window.windows(again)
    for wid in window.windows(tuples):
        assert rows_of(window.extent(wid, tuples)) == rows_of(window.extent(wid, again))


@every_kind
@some
@given(data=st.data(), tuples=streams(), punctuation=st.integers(-35, 35))
def test_nothing_that_comes_after_the_punctuation_changes_a_closed_window(
    windows: st.SearchStrategy[Window[Any]], data: st.DataObject, tuples: list[Tuple], punctuation: int
) -> None:
    window = data.draw(windows)
    numbers = data.draw(st.sampled_from([len(tuples) + 1, *[-50] * ranks_by_time(window)]))
    later = data.draw(streams(earliest=min(punctuation, 30), rows_from=numbers))
    after = tuples + [t for t in later if t.time >= punctuation]
    for wid in window.windows(tuples):
        if window.closed_by(wid, punctuation, tuples):
            assert wid in window.windows(after)
            assert rows_of(window.extent(wid, after)) == rows_of(window.extent(wid, tuples))
            assert window.bounds(wid, after) == window.bounds(wid, tuples)
            assert window.closed_by(wid, punctuation, after)


@every_kind
@some
@given(data=st.data(), tuples=streams(), punctuation=st.integers(-35, 35))
def test_a_closed_window_stays_closed(
    windows: st.SearchStrategy[Window[Any]], data: st.DataObject, tuples: list[Tuple], punctuation: int
) -> None:
    window = data.draw(windows)
    for wid in window.windows(tuples):
        if window.closed_by(wid, punctuation, tuples):
            assert window.closed_by(wid, punctuation + 1, tuples)


@every_kind
@some
@given(data=st.data(), tuples=streams())
def test_a_window_that_is_not_closed_can_still_change(
    windows: st.SearchStrategy[Window[Any]], data: st.DataObject, tuples: list[Tuple]
) -> None:
    window = data.draw(windows)
    if not window.windows(tuples) or window == OverRows(0):  # a frame of the current tuple alone never changes
        return
    wid = data.draw(st.sampled_from(sorted(window.windows(tuples), key=str)))
    punctuation = next((p for p in range(-60, 100) if window.closed_by(wid, p, tuples)), 100) - 1
    if punctuation < -60:  # closed from the start: the arrival alone decides
        return
    keys = {t.key for t in window.extent(wid, tuples)}
    last = max(t.time for t in tuples)
    rows = len(tuples) + 1
    numbers = (rows, *[-rows] * ranks_by_time(window))
    more = (
        [Tuple(time, number + n if number > 0 else number - n, key) for n in range(40)]
        for key in keys
        for time in (punctuation, last + 1)
        for number in numbers
    )
    changed = [tuples + some[:n] for some in more for n in range(1, 41)]
    assert any(
        wid not in window.windows(after) or rows_of(window.extent(wid, after)) != rows_of(window.extent(wid, tuples))
        for after in changed
    )


@every_paned_kind
@some
@given(data=st.data(), tuples=streams(), wid=st.integers(-8, 8))
def test_panes_make_up_the_extent_exactly(
    windows: st.SearchStrategy[Paned], data: st.DataObject, tuples: list[Tuple], wid: int
) -> None:
    window = data.draw(windows)
    panes = window.pane_of(columns(tuples)[0]).tolist()
    in_panes = {t.row for t, pane in zip(tuples, panes, strict=True) if pane in window.panes(wid)}
    assert in_panes == rows_of(window.extent(wid, tuples))
    start, end = window.bounds(wid)
    assert (window.pane_start(window.panes(wid).start), window.pane_start(window.panes(wid).stop)) == (start, end)


@every_paned_kind
@some
@given(data=st.data(), pane=st.integers(-30, 30))
def test_the_windows_of_a_pane_are_those_that_hold_it(
    windows: st.SearchStrategy[Paned], data: st.DataObject, pane: int
) -> None:
    window = data.draw(windows)
    holding = [w for w in range(-500, 500) if pane in window.panes(w)]
    assert holding == list(range(window.first_wid_of_pane(pane), window.last_wid_of_pane(pane) + 1))


@pytest.mark.parametrize(
    "windows", [*MOVING_OVER_PANES.values(), LANDMARK], ids=[kind.__name__ for kind in (*MOVING_OVER_PANES, Landmark)]
)
@some
@given(data=st.data(), old=st.integers(-50, 50), step=st.integers(0, 40))
def test_windows_close_between_two_watermarks_once(
    windows: st.SearchStrategy[Paned | Landmark], data: st.DataObject, old: int, step: int
) -> None:
    window = data.draw(windows)
    ids = [w for w in range(-150, 150) if old < window.bounds(w)[1] <= old + step]
    assert list(window.wids_between(old, old + step)) == ids


@every_paned_kind
@some
@given(data=st.data(), watermark=st.integers(-50, 50))
def test_panes_are_kept_as_long_as_an_open_window_needs_them(
    windows: st.SearchStrategy[Paned], data: st.DataObject, watermark: int
) -> None:
    window = data.draw(windows)
    opened = [w for w in range(-150, 150) if not window.closed_by(w, watermark)]
    assert window.last_needed_before(watermark) == min(window.panes(w).start for w in opened)


@every_paned_kind
@some
@given(data=st.data(), tuples=streams())
def test_many_times_are_assigned_as_one_by_one(
    windows: st.SearchStrategy[Paned], data: st.DataObject, tuples: list[Tuple]
) -> None:
    window = data.draw(windows)
    positions, wids = window.assign(columns(tuples)[0])
    expected = [(i, w) for i, t in enumerate(tuples) for w in window.wids(t)]
    assert list(zip(positions.tolist(), wids.tolist(), strict=True)) == expected


@some
@given(window=LANDMARK, tuples=streams())
def test_landmark_first_wids(window: Landmark, tuples: list[Tuple]) -> None:
    assert window.first_wids(columns(tuples)[0]).tolist() == [min(window.wids(t, tuples)) for t in tuples]


@some
@given(window=SESSION, tuples=streams(), keyed=st.booleans())
def test_session_assign(window: Session, tuples: list[Tuple], keyed: bool) -> None:
    times, _, keys = columns(tuples)
    if not keyed:
        tuples = [Tuple(t.time, t.row) for t in tuples]
    starts, ends = window.assign(times, keys if keyed else None)
    expected = [window.bounds(wid, tuples) for t in tuples for wid in window.wids(t, tuples)]
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == expected


@some
@given(window=ROWS, tuples=streams())
def test_rows_assign(window: Rows, tuples: list[Tuple]) -> None:
    positions, indexes = window.assign(*columns(tuples))
    got = {(tuples[p].row, i) for p, i in zip(positions.tolist(), indexes.tolist(), strict=True)}
    assert got == {(t.row, w[0] if isinstance(w, tuple) else w) for t in tuples for w in window.wids(t, tuples)}


@some
@given(window=SLIDE_BY_TUPLE, tuples=streams())
def test_slide_by_tuple_assign(window: SlideByTuple, tuples: list[Tuple]) -> None:
    times, rows, _ = columns(tuples)
    assert window.ends(times, rows).tolist() == sorted(window.windows(tuples))
    positions, wids = window.assign(times, rows)
    got = {(tuples[p].row, w) for p, w in zip(positions.tolist(), wids.tolist(), strict=True)}
    assert got == {(t.row, w) for t in tuples for w in window.wids(t, tuples)}


@some
@given(window=DRAWN[OverRange] | DRAWN[OverRows], tuples=streams())
def test_over_frames(window: Over, tuples: list[Tuple]) -> None:
    order, current, first, last = window.frames(*columns(tuples))
    got = {
        tuples[order[i]].row: {tuples[p].row for p in order[start : end + 1]}
        for i, start, end in zip(current, first, last, strict=True)
    }
    assert got == {w: rows_of(window.extent(w, tuples)) for w in window.windows(tuples)}


@some
@given(range_=SIZES, slide=SIZES, tuples=streams(), v=st.integers(0, 20))
def test_windows_with_aligned_ends_are_sliding_windows(range_: int, slide: int, tuples: list[Tuple], v: int) -> None:
    least = min((t.time for t in tuples), default=0)
    end = least + (v + 1) * slide
    theirs = [t for t in tuples if end - range_ <= t.time < end]
    assert Sliding(range_, slide, least - range_).extent(v + 1, tuples) == theirs
    if range_ % slide == 0:
        assert Sliding(range_, slide, least).extent(v + 1 - range_ // slide, tuples) == theirs


@some
@given(range_=SIZES, slide=SIZES, origin=ORIGINS)
def test_slides_larger_than_the_range_leave_gaps(range_: int, slide: int, origin: int) -> None:
    window = Sliding(range_, slide, origin)
    counts = {len(window.wids(Tuple(time))) for time in range(-40, 40)}
    assert counts <= {range_ // slide, -(-range_ // slide)}
    assert (0 in counts) == (slide > range_)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sliding(0, 1), "the range of a window must be more than 0, not 0"),
        (lambda: Landmark(-1), "the slide of a window must be more than 0, not -1"),
        (lambda: Cumulate(4, 6), "the step does not divide the size: the size must be a multiple of the step"),
        (lambda: Session(0), "the gap of a window must be more than 0, not 0"),
        (lambda: Rows(1, 0), "the slide of a window must be more than 0, not 0"),
        (lambda: SlideByTuple(1, 0), "the every of a window must be more than 0, not 0"),
        (lambda: OverRange(-1), "a frame reaches back by 0 or more, not -1"),
        (lambda: OverRows(1, slide=0), "the slide of a window must be more than 0, not 0"),
    ],
)
def test_sizes_that_make_no_window_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingError, match=f"^{message}$"):
        make()
