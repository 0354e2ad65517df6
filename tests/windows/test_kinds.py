"""Every kind of window answers every question, and what it answers agrees with its definition."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from millstream.aggregates.count import Count
from millstream.catalog.select import Select
from millstream.errors import EslError, EslSyntaxError, Refused
from millstream.language.binder import bind
from millstream.language.bound import Rows as Asked
from millstream.language.parser import parse
from millstream.operators.evaluation import evaluation
from millstream.operators.registry import RUNNERS, runner
from millstream.structure import from_json
from millstream.windows import Over, OverRange, Paned, Session, Tuple, Whole, Window
from millstream.windows.emit import Emit, Pace
from millstream.windows.reach import Band, SameTumble
from tests.drawing import drawn
from tests.language.auctions import catalog
from tests.windows.kinds import DRAWN, WRITTEN, discovered, streams

some = drawn(60)
every_kind = pytest.mark.parametrize("kind", DRAWN, ids=[kind.__name__ for kind in DRAWN])
every_written_kind = pytest.mark.parametrize("kind", WRITTEN, ids=[kind.__name__ for kind in WRITTEN])
Kind = type[Window[Any]]


def test_every_kind_is_drawn_here_and_has_an_operator() -> None:
    assert set(DRAWN) == discovered()
    assert set(RUNNERS) == discovered()
    assert set(WRITTEN) == {kind for kind in discovered() if not issubclass(kind, Whole)}


def test_a_kind_without_an_operator_fails_by_name() -> None:
    class Unheard(Session):
        pass

    with pytest.raises(NotImplementedError, match=r"no operator in operators/registry\.py computes Unheard"):
        runner(Unheard(5))
    with pytest.raises(NotImplementedError, match="Unheard"):
        evaluation(Count([pa.int64()]), Unheard(5))


@every_kind
@some
@given(data=st.data())
def test_words(kind: Kind, data: st.DataObject) -> None:
    window, other = data.draw(DRAWN[kind]), data.draw(DRAWN[kind])
    assert window.text
    assert window.noun.startswith(("a ", "an "))
    if _told_apart(window) != _told_apart(other):
        assert window.text != other.text


@every_kind
@some
@given(data=st.data())
def test_one_structure_means_one_window(kind: Kind, data: st.DataObject) -> None:
    """By it states are told apart: whatever makes windows differ is in it, and it survives as JSON."""
    window, other = data.draw(DRAWN[kind]), data.draw(DRAWN[kind])
    assert (window.structure == other.structure) == (window == other)
    assert from_json(json.loads(json.dumps(window.structure))) == window.structure


def test_kinds_have_structures_of_their_own() -> None:
    kinds = [next(iter(_samples(kind))).structure for kind in DRAWN]
    assert len({structure[0] for structure in kinds if isinstance(structure, tuple)}) == len(DRAWN)


@some
@given(pace=st.sampled_from(Pace), other=st.sampled_from(Pace), every=st.integers(0, 3), others=st.integers(0, 3))
def test_so_do_emissions(pace: Pace, other: Pace, every: int, others: int) -> None:
    one, another = Emit(pace, every), Emit(other, others)
    assert (one.structure == another.structure) == (one == another)
    assert from_json(json.loads(json.dumps(one.structure))) == one.structure


@some
@given(data=st.data())
def test_and_the_reaches_of_joins(data: st.DataObject) -> None:
    limits = st.none() | st.integers(-2, 2)
    reaches = st.builds(Band, limits, limits) | st.builds(SameTumble, st.integers(1, 3), st.integers(0, 2))
    one, another = data.draw(reaches), data.draw(reaches)
    assert (one.structure == another.structure) == (one == another)


def _told_apart(window: Window[Any]) -> Window[Any]:
    """The window without what its text leaves to the rest of the query."""
    match window:
        case OverRange():
            return replace(window, origin=0)
        case _ if hasattr(window, "order") and type(window).__name__ != "SlideByTuple":
            return replace(window, order="rank", **({"partitioned": False} if hasattr(window, "partitioned") else {}))  # type: ignore[type-var]
    return window


@every_kind
@some
@given(data=st.data(), tuples=streams())
def test_the_end_is_inclusive_where_it_says_so(kind: Kind, data: st.DataObject, tuples: list[Tuple]) -> None:
    window = data.draw(DRAWN[kind])
    for wid in window.windows(tuples):
        end, last = window.bounds(wid, tuples)[1], max(t.time for t in window.extent(wid, tuples))
        assert end is not None
        assert last == end if window.end_inclusive else last < end


@every_kind
@some
@given(data=st.data(), tuples=streams(), more=streams(rows_from=20), punctuation=st.integers(-35, 35))
def test_a_promised_start_is_not_undercut(
    kind: Kind, data: st.DataObject, tuples: list[Tuple], more: list[Tuple], punctuation: int
) -> None:
    window = data.draw(DRAWN[kind])
    if window.length is None:
        return
    every = tuples + [t for t in more if t.time >= punctuation]
    for wid in window.windows(every):
        start, end = window.bounds(wid, every)
        assert start is not None
        assert end is not None
        assert end - start <= window.length
        if not window.closed_by(wid, punctuation, tuples):
            assert start >= punctuation - window.length


@every_kind
@some
@given(data=st.data(), tuples=streams(), more=streams(rows_from=20))
def test_what_does_not_depend_on_data_is_said_of_each_tuple_alone(
    kind: Kind, data: st.DataObject, tuples: list[Tuple], more: list[Tuple]
) -> None:
    window = data.draw(DRAWN[kind])
    assert window.depends_on_data or not _changes_with_data(window, tuples, more)


@every_kind
def test_what_depends_on_data_shows_it(kind: Kind) -> None:
    pairs = st.tuples(DRAWN[kind], streams(), streams(rows_from=20))
    if not any(window.depends_on_data for window in _samples(kind)):
        return
    find(pairs, lambda p: p[0].depends_on_data and _changes_with_data(*p), settings=_SEARCH)


def _changes_with_data(window: Window[Any], tuples: list[Tuple], more: list[Tuple]) -> bool:
    both = [*tuples, *more]
    apart = window.windows(tuples) | window.windows(more)
    return window.windows(both) != apart or any(
        Counter(window.extent(wid, both)) != Counter([*window.extent(wid, tuples), *window.extent(wid, more)])
        or window.bounds(wid, both) != window.bounds(wid)
        for wid in apart
    )


@every_kind
@some
@given(data=st.data(), tuples=streams())
def test_what_does_not_depend_on_arrival_is_the_same_in_any_order_of_arrival(
    kind: Kind, data: st.DataObject, tuples: list[Tuple]
) -> None:
    window = data.draw(DRAWN[kind])
    if window.depends_on_arrival:
        return
    tuples = _named(tuples)
    again = [replace(t, row=row) for t, row in zip(tuples, data.draw(_numbers(tuples)), strict=True)]
    assert _answers(window, tuples) == _answers(window, again)


@every_kind
def test_what_depends_on_arrival_shows_it(kind: Kind) -> None:
    if not any(window.depends_on_arrival for window in _samples(kind)):
        return

    @st.composite
    def renumbered(draw: st.DrawFn) -> tuple[Window[Any], list[Tuple], list[Tuple]]:
        tuples = _named(draw(streams()))
        again = [replace(t, row=row) for t, row in zip(tuples, draw(_numbers(tuples)), strict=True)]
        return draw(DRAWN[kind]), tuples, again

    find(
        renumbered(),
        lambda p: p[0].depends_on_arrival and _answers(p[0], p[1]) != _answers(p[0], p[2]),
        settings=_SEARCH,
    )


def _named(tuples: Sequence[Tuple]) -> list[Tuple]:
    return [replace(t, value=number) for number, t in enumerate(tuples)]


def _numbers(tuples: Sequence[Tuple]) -> st.SearchStrategy[list[int]]:
    return st.permutations(range(1, len(tuples) + 1))


def _answers(window: Window[Any], tuples: list[Tuple]) -> Counter[Hashable]:
    """Bounds and tuples of each window, and of a frame the tuple that it is the answer to."""
    by_row = {t.row: t.value for t in tuples}
    return Counter(
        (
            by_row[wid] if isinstance(window, Over) else None,
            window.bounds(wid, tuples),
            frozenset(t.value for t in window.extent(wid, tuples)),
        )
        for wid in window.windows(tuples)
    )


@every_kind
@some
@given(data=st.data(), tuples=streams())
def test_ranked_by_arrival_windows_are_the_same_where_tuples_arrive_in_the_order_of_time(
    kind: Kind, data: st.DataObject, tuples: list[Tuple]
) -> None:
    window = data.draw(DRAWN[kind])
    ranked = window.by_arrival()
    assert type(ranked) is kind
    assert ranked.by_arrival() == ranked
    tuples = [replace(t, row=row) for row, t in enumerate(sorted(tuples, key=lambda t: t.time), 1)]
    assert ranked.windows(tuples) == window.windows(tuples)
    for wid in window.windows(tuples):
        assert ranked.extent(wid, tuples) == window.extent(wid, tuples)


@every_kind
@some
@given(data=st.data(), tuples=streams(), by=st.integers(-20, 20), wid=st.integers(-5, 5))
def test_panes_and_origin(kind: Kind, data: st.DataObject, tuples: list[Tuple], by: int, wid: int) -> None:
    window = data.draw(DRAWN[kind])
    paned = window.paned
    assert (paned is not None) == isinstance(window, Paned)
    assert (runner(window).partial is not None) == (paned is not None)
    assert (runner(window).from_first is not None) == (paned is not None and not window.whole)
    if paned is None:
        return
    assert paned is window
    moved = paned.from_origin(paned.origin + by)
    assert type(moved) is kind
    shifted = [replace(t, time=t.time + by) for t in tuples]
    assert {t.row for t in moved.extent(wid, shifted)} == {t.row for t in paned.extent(wid, tuples)}
    if paned.apart:
        assert len(paned.panes(wid)) == 1
        assert paned.first_wid_of_pane(paned.panes(wid).start) == paned.last_wid_of_pane(paned.panes(wid).start)


@every_kind
@some
@given(data=st.data(), tuples=streams())
def test_a_whole_has_all(kind: Kind, data: st.DataObject, tuples: list[Tuple]) -> None:
    window = data.draw(DRAWN[kind])
    assert window.whole == (kind is Whole)
    if window.whole and tuples:
        (wid,) = window.windows(tuples)
        assert window.extent(wid, tuples) == tuples


# -- as they are written -----------------------------------------------------------------------------------

STREAM, TIME = "open_auction", "start_time"


def bound(text: str) -> Select:
    found = bind(parse(text)[0], catalog())
    assert isinstance(found, Asked)
    return found.select


def query(window: Window[Any], items: str = "count(*)", stream: str = STREAM, time: str = TIME) -> str:
    behind, source = WRITTEN[type(window)](window.text)
    call = f"{items} {behind} AS n FROM {source} AS o"
    return "SELECT " + call.format(s=stream, ts=time)


def _writable(window: Window[Any]) -> Window[Any]:
    """What can be written of a window: functions have an OFFSET of 0 or more, frames go by their own time."""
    match window:
        case Paned() if WRITTEN[type(window)](window.text)[1] != "{s}":
            return window.from_origin(abs(window.origin))
        case OverRange():
            return replace(window, origin=0)
        case _ if hasattr(window, "partitioned"):
            return replace(window, order="rank", partitioned=False)  # type: ignore[type-var]
        case Over() if hasattr(window, "order"):
            return replace(window, order="rank")
    return window


@every_written_kind
@some
@given(data=st.data())
def test_the_text_means_the_window(kind: Kind, data: st.DataObject) -> None:
    window = _writable(data.draw(DRAWN[kind]))
    if isinstance(window, Over) and window.active:
        return  # an aggregate that has something to say when a tuple leaves: see tests/language/errors.txt
    select = bound(query(window))
    found = [c.window for f in select.over_aggregates for c in f.calls] or [
        select.window_aggregate and select.window_aggregate.window
    ]
    assert found == [window]


@every_written_kind
@some
@given(data=st.data())
def test_emit_is_refused_where_the_window_says_so(kind: Kind, data: st.DataObject) -> None:
    window = _writable(data.draw(DRAWN[kind]))
    if isinstance(window, Over) and window.active:
        window = replace(window, active=False)  # type: ignore[type-var]
    text = query(window) + " EMIT EVERY 10 SECONDS"
    if window.reason_not_to_emit is None:
        windowed = bound(text).window_aggregate
        assert windowed is not None
        assert windowed.emit is not None
        assert window.paned is not None
        return
    with pytest.raises(Refused) as refused:
        bound(text)
    assert window.reason_not_to_emit in str(refused.value)


@every_written_kind
@some
@given(data=st.data())
def test_only_a_promised_start_is_the_time_stamp_of_answers(kind: Kind, data: st.DataObject) -> None:
    window = _writable(data.draw(DRAWN[kind]))
    if isinstance(window, Over):
        assert window.length is None
        return
    select = bound(query(window, items="window_start, count(*)"))
    assert (select.time is not None) == (window.length is not None)


@every_written_kind
def test_only_windows_of_panes_have_an_origin(kind: Kind) -> None:
    window = _writable(_samples(kind)[0])
    if not WRITTEN[kind](window.text)[0].startswith("["):
        return
    text = query(window.paned.from_origin(0) if window.paned else window).replace("]", ", ORIGIN FIRST]")
    if window.paned is None:
        with pytest.raises(EslSyntaxError, match="ORIGIN moves windows of time"):
            bound(text)
    else:
        windowed = bound(text).window_aggregate
        assert windowed is not None
        assert windowed.from_first


@every_written_kind
def test_each_partition_has_windows_where_they_depend_on_data(kind: Kind) -> None:
    window = _writable(_samples(kind)[0])
    behind, source = WRITTEN[kind](window.text)
    if behind.startswith("["):
        text = f"SELECT seller_id, count(*) {behind[:-1]}, PA seller_id] AS n FROM {source} AS o GROUP BY seller_id"
    elif not behind:
        source = source.replace("{s}", "{s} PARTITION BY seller_id")
        text = f"SELECT seller_id, count(*) AS n FROM {source} AS o GROUP BY seller_id"
    else:
        return
    try:
        select = bound(text.format(s=STREAM, ts=TIME))
    except EslError:
        assert not window.depends_on_data
    else:
        assert select.window_aggregate is not None
        assert select.window_aggregate.partition == (1 if window.depends_on_data else 0)


_SEARCH = settings(
    max_examples=5000, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


def _samples(kind: Kind) -> list[Window[Any]]:
    found: list[Window[Any]] = []

    @settings(max_examples=25, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(DRAWN[kind])
    def collect(window: Window[Any]) -> None:
        found.append(window)

    collect()
    return found
