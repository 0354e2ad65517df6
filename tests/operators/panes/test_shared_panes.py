"""Windows that share panes answer what each answers alone: also what comes late, behind an end, and after restarts."""

from __future__ import annotations

from functools import partial
from math import gcd
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.operators.blobs import Blobs, MemoryBlobs
from millstream.operators.contract import Operator
from millstream.operators.panes.paned_aggregate import PanedAggregate
from millstream.operators.panes.partials import partial_states
from millstream.operators.panes.shared_panes import WINDOW, SharedPanes, common_job
from millstream.operators.window_aggregate_job import TIME, WindowAggregateJob
from millstream.progress.punctuation import Punctuation
from millstream.windows.sliding import Sliding
from tests.operators.harness import KEYS, NUMBERS, numbers, read

Answered = list[list[Any]]
"""The answers of each batch, in order."""


def finish(operator: Operator, table: pa.Table, newest: int, slack: int, ends: bool) -> tuple[int, list[pa.Table]]:
    """A batch, as the host runs it."""
    late = operator.process(table)
    tables = list(operator.punctuate(Punctuation(newest - slack)))
    if ends:
        tables += operator.punctuate(Punctuation(newest, final=True))
    return late, [*tables, *operator.end_batch()]


def alone(job: WindowAggregateJob, batches: list[pa.Table], slack: int, ends: set[int], restarts: bool) -> Any:
    store, answered, late = MemoryBlobs(), [], 0
    operator = PanedAggregate(job, store)
    newest = -(10**6)
    for number, batch in enumerate(batches):
        newest = max([newest, *batch[TIME].to_pylist()])
        missed, tables = finish(operator, partial_states(job, batch), newest, slack, number in ends)
        late += missed
        answered.append(sorted((a for table in tables for a in read(job, table)), key=repr))
        operator = PanedAggregate(job, store) if restarts else operator
    return answered, late


@given(numbers(), st.data())
def test_each_window_answers_as_it_does_alone(rows: pa.Table, data: st.DataObject) -> None:
    origin = data.draw(st.integers(-20, 20), "origin")
    sizes = data.draw(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=3), "windows")
    jobs = {str(n): WindowAggregateJob(KEYS, NUMBERS, Sliding(*size, origin)) for n, size in enumerate(sizes)}
    pane = gcd(*(part for size in sizes for part in size))
    cuts = sorted(data.draw(st.lists(st.integers(0, rows.num_rows), max_size=4), "cuts"))
    batches = [rows.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, rows.num_rows], strict=True)]
    slack, restarts = data.draw(st.integers(0, 20), "slack"), data.draw(st.booleans(), "restarts")
    ends = data.draw(st.sets(st.integers(0, len(batches))), "ends") | {len(batches) - 1}

    store = MemoryBlobs()
    make: Any = partial(SharedPanes, jobs, pane)
    operator, common = make(store), common_job(jobs["0"], pane)
    answered: dict[str, Answered] = {key: [] for key in jobs}
    late = dict.fromkeys(jobs, 0)
    newest = -(10**6)
    for number, batch in enumerate(batches):
        newest = max([newest, *batch[TIME].to_pylist()])
        _, tables = finish(operator, partial_states(common, batch), newest, slack, number in ends)
        for key, job in jobs.items():
            own = [table for table in tables if table.schema.metadata[WINDOW] == key.encode()]
            answered[key].append(sorted((a for table in own for a in read(job, table)), key=repr))
        for key, said in operator.said_of_windows().items():
            late[key] += said["late"] or 0
        operator = make(store) if restarts else operator
    for key, job in jobs.items():
        assert (answered[key], late[key]) == alone(job, batches, slack, ends, restarts)


def test_state_is_let_go_of() -> None:
    jobs = {str(n): WindowAggregateJob(KEYS, NUMBERS, Sliding(n, n)) for n in (4, 6)}
    store: Blobs = MemoryBlobs()
    operator = SharedPanes(jobs, 2, store)
    common = common_job(jobs["4"], 2)
    for time in range(200):
        row = pa.table({TIME: [time], "k": [f"{time % 3}"], "v": [time], "wanted": [True]})
        finish(operator, partial_states(common, row), time, 0, ends=False)
    assert len(list(store.scan("pane"))) <= 4
