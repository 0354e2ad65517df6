"""A window that is changed between two batches is read from the panes that are there: none missing, none twice."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as st

from millstream.operators.blobs import MemoryBlobs
from millstream.operators.panes.finer_panes import FinerPanes
from millstream.operators.panes.paned_aggregate import PanedAggregate
from millstream.operators.panes.partials import partial_states
from millstream.operators.window_aggregate_job import TIME, WindowAggregateJob
from millstream.plan.fingerprint.fact import Fact
from millstream.plan.fingerprint.fingerprint import Fingerprint
from millstream.plan.fingerprint.kept_panes import kept_pane
from millstream.progress.punctuation import Punctuation
from millstream.windows.panes import Paned
from millstream.windows.sliding import Sliding
from tests.drawing import drawn
from tests.operators.harness import KEYS, NUMBERS, SLACK, Answers, finals, numbers, read
from tests.windows.kinds import ORIGINS


def step(window: Paned) -> Fingerprint:
    return Fingerprint.of("window aggregate", 1, [Fact("window", None, window.structure, "the window")], ())


@st.composite
def changes(draw: st.DrawFn) -> list[Paned]:
    """Windows one after the other, each of which can be read from the panes that are kept for the one before."""
    slide, times, origin = draw(st.integers(1, 6)), draw(st.integers(2, 8)), draw(ORIGINS)
    found: list[Paned] = [Sliding(slide * times, slide, origin)]
    for _ in range(draw(st.integers(1, 2))):
        new = Sliding(draw(st.integers(1, slide * times)), draw(st.integers(1, 2 * slide * times)), origin)
        pane = kept_pane([step(found[-1])], [step(new)])
        assume(pane is not None)
        assert pane is not None
        found.append(new if new.pane == pane else FinerPanes(new, pane))
        assert kept_pane([step(found[-1])], [step(new)]) == pane, "it finds its panes when it starts again"
    return found


@drawn(150)
@given(data=st.data(), windows=changes(), rows=numbers())
def test_the_panes_of_one_window_serve_the_next(data: st.DataObject, windows: list[Paned], rows: pa.Table) -> None:
    times = rows[TIME].to_pylist()
    order = sorted(range(len(times)), key=lambda i: times[i] + data.draw(st.integers(0, SLACK)))
    arrived = rows.take(pa.array(order, pa.int64()))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(order)), min_size=3, max_size=5)))
    last = sorted(data.draw(st.lists(st.integers(0, len(cuts)), min_size=len(windows) - 1, max_size=len(windows) - 1)))
    store, expected, until = MemoryBlobs(), {}, None
    found: Answers = {}
    newest: int | None = None
    for number, (begin, end) in enumerate(zip([0, *cuts], [*cuts, len(order)], strict=True)):
        version = sum(number > cut for cut in last)
        job = WindowAggregateJob(KEYS, NUMBERS, windows[version])
        operator = PanedAggregate(job, store)
        batch = arrived.slice(begin, end - begin)
        for time in batch[TIME].to_pylist():
            newest = time if newest is None else max(newest, time)
        assert operator.process(partial_states(job, batch)) == 0
        final = number == len(cuts)
        told = (
            []
            if newest is None
            else [Punctuation(newest - SLACK), *([Punctuation(newest, final=True)] if final else [])]
        )
        before = operator.low_watermark
        for punctuation in told:
            for table in operator.punctuate(punctuation):
                for place, values in read(job, table):
                    assert (version, place) not in found
                    found[version, place] = values
        list(operator.end_batch())
        until = operator.low_watermark
        for place, values in finals(job, rows).items():
            if until is not None and place[1] <= until and (before is None or place[1] > before):
                expected[version, place] = values
    assert found == expected
