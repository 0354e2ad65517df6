"""Tuples thousands of years apart: what an operator does follows the tuples, not the calendar in between."""

from __future__ import annotations

import pytest

from millstream.operators.blobs import MemoryBlobs
from millstream.operators.from_first import FromFirst
from millstream.operators.grouped import Grouped
from millstream.operators.paned_aggregate import PanedAggregate
from millstream.operators.partials import partial_states
from millstream.progress.punctuation import Punctuation
from millstream.windows.cumulate import Cumulate
from millstream.windows.emit import Emit, Pace
from millstream.windows.landmark import Landmark
from millstream.windows.panes import Paned
from millstream.windows.sliding import Sliding
from tests.operators.harness import KEYS, NUMBERS, read, table

YEAR = 365 * 24 * 3600 * 10**6
FIRST, LAST = -1970 * YEAR, 8029 * YEAR
ROWS = [(FIRST, "a", 1, True), (0, "b", 2, True), (7, "a", 3, True), (129 * YEAR, "a", 4, True), (LAST, "b", 5, True)]
EMITS = [None, *(Emit(pace, 2) for pace in Pace)]

WINDOWS = {
    "landmark": Landmark(3),
    "tiny slides": Sliding(20, 1),
    "gaps": Sliding(8, 9),
    "cumulate": Cumulate(2, 10),
}


@pytest.mark.parametrize("emit", EMITS, ids=lambda emit: emit.pace.value if emit else "final")
@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
def test_windows_are_answered_where_tuples_are(window: Paned, emit: Emit | None) -> None:
    job = Grouped(KEYS, NUMBERS, window, emit=emit)
    operator = PanedAggregate(job, store := MemoryBlobs())
    operator.process(partial_states(job, table(ROWS)))
    found = [a for t in operator.end_batch() for a in read(job, t)]
    operator = PanedAggregate(job, store)
    assert operator.waits is not None
    for said in (Punctuation(5), Punctuation(LAST), Punctuation(LAST, final=True)):
        found += [a for t in operator.punctuate(said) for a in read(job, t)]
        found += [a for step in (operator.tick, operator.end_batch) for t in step() for a in read(job, t)]
    ends = {place[1] for place, _ in found if place[2] == "final"}
    assert ends == {window.bounds(wid)[1] for time, *_ in ROWS for wid in window.wids_at(time)}
    assert len(found) < 1000


@pytest.mark.parametrize("emit", EMITS, ids=lambda emit: emit.pace.value if emit else "final")
def test_windows_from_the_first_time_stamp_on(emit: Emit | None) -> None:
    job = Grouped(KEYS, NUMBERS, Landmark(3), emit=emit, from_first=True)
    operator = FromFirst(job, store := MemoryBlobs())
    operator.process(table(ROWS))
    operator.stirred(table([(FIRST + 100, "c", 1, True)])["__time"].combine_chunks())
    list(operator.end_batch())
    operator = FromFirst(job, store)
    answers = list(operator.punctuate(Punctuation(LAST, final=True, oldest=FIRST)))
    ends = {place[1] for t in answers for place, _ in read(job, t) if place[2] == "final"}
    assert ends == {FIRST + (time - FIRST) // 3 * 3 + 3 for time in [FIRST + 100, *(time for time, *_ in ROWS)]}
    assert store.get("stirred") is None
