"""EXPLAIN ANALYZE as text and as steps, from what is known of a query, without one."""

from __future__ import annotations

from millstream.language.binder import bind
from millstream.language.bound import Rows
from millstream.language.parser import parse
from millstream.mill.reports.analysis import Analysis
from millstream.plan.algebra import Node
from millstream.plan.build import build
from millstream.plan.passes import apply_passes
from millstream.plan.physical import physical
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.observe_steps import observe_steps
from millstream.spark.run.progress import Counts
from millstream.spark.run.task_seconds import TaskSeconds
from millstream.spark.stage.bucket_work import BucketWork
from tests.language.auctions import catalog

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) ORDER BY ts SOURCE 'parquet:s';"
SELECT = "SELECT k, sum(v) [RANGE 1 MINUTE] AS n FROM s WHERE v > 3 GROUP BY k HAVING sum(v) > 9"


def plan() -> Node:
    known = catalog(STREAM)
    bound = bind(parse(SELECT)[0], known)
    assert isinstance(bound, Rows)
    return physical(apply_passes(build(bound.select), known), Facts())


def batch(number: int, state: int | None) -> dict[str, object]:
    """The progress of a batch in which three files had 900 rows."""
    work = {f"work.{bucket}": BucketWork(10, 0.25).packed for bucket in (2, 5)}
    stage = {"waits": None, "bytes": 1200, "out": 7, "state": state, "tuples.0": 700, "micros.0": 12_000, **work}
    observed = {
        "millstream.stage.1": stage,
        "millstream.read.1.0.s": {"rows": 900, "files": 3},
        "millstream.read.9ee672f3": {"rows": 5, "files": 5},
        "millstream.step.1": {"rows": 6},
    }
    return {
        "batchId": number,
        "timestamp": "2024-01-01T00:00:00.000Z",
        "sources": [{"numInputRows": 3, "description": "FileStreamSource[file:/s]"}],
        "durationMs": {"addBatch": 800, "queryPlanning": 100, "walCommit": 50, "triggerExecution": 1000},
        "observedMetrics": observed,
    }


def test_a_query_that_has_done_nothing_shows_its_plan() -> None:
    text = Analysis(plan(), Counts()).text
    assert "->" not in text
    assert text.splitlines()[-1] == "0 batches of 0 rows, 0.000 seconds"


def test_figures_stand_below_their_steps() -> None:
    counts = Counts()
    counts.add(batch(0, 4000))
    counts.add(batch(1, 3500))
    counts.add(batch(2, None))
    counts.late["s"] = 4
    assert (
        Analysis(plan(), counts).text
        == """\
Project __k0 AS k, __r1 AS n
└─ Filter __r1 > 9
   │    in stage 1
   └─ WindowAggregate SUM(v) (running total) by k, RANGE 1 minute, SLIDE 1 minute along ts, panes of 1 minute
      │    stage 1; buckets by k, one for each task of Spark; partial states of panes are exchanged
      │    -> 21 rows, from 60 that came as 3.6 kB, 1.500 seconds in 2 buckets, state 3.5 kB
      └─ Filter v > 3
         │    -> 2,700 rows of 9 files read, 2,100 exchanged after 0.036 seconds
         └─ Scan stream s from parquet:s (external time stamp ts)
                 the stage reads the files itself
3 batches of 2,700 rows, 3.000 seconds
  2.400 of work and sinks, 0.300 of planning, 0.150 of checkpoint
  late: 4 of s"""
    )


def test_seconds_of_tasks_are_told_where_they_are_known() -> None:
    counts = Counts()
    counts.steps.tasks = TaskSeconds({1: 0.75}, last=1.25, beside=0.5)
    lines = Analysis(plan(), counts).text.splitlines()
    assert lines[1].endswith("-> 1.250 seconds of tasks")
    assert lines[-1].endswith("together; 0.500 seconds of other tasks, as for joined tables")
    counts.add(batch(0, 4000))
    text = Analysis(plan(), counts).text
    assert "state 4.0 kB, after 0.750 seconds of tasks for its inputs\n" in text
    counts.steps.tasks.clear = False
    assert "of tasks" not in Analysis(plan(), counts).text


def test_steps_have_their_figures_by_name() -> None:
    counts = Counts()
    counts.add(batch(0, 4000))
    steps = Analysis(observe_steps(plan()), counts).steps
    assert [(step["depth"], str(step["step"]).split()[0]) for step in steps] == [
        (0, "Project"), (1, "Filter"), (2, "WindowAggregate"), (3, "Filter"), (4, "Scan"),
    ]  # fmt: skip
    assert steps[0] == {"depth": 0, "step": "Project __k0 AS k, __r1 AS n", "notes": [], "rows": 6}
    figures = {name: value for name, value in steps[2].items() if name not in {"depth", "step", "notes"}}
    shuffled = {"came": 20, "bytes": 1200, "seconds": 0.5, "buckets": 2}
    assert figures == {"rows": 7, "state_bytes": 4000, **shuffled}


def test_counts_go_on_from_those_of_an_earlier_run() -> None:
    earlier, counts = Counts(), Counts()
    for each in (earlier, counts):
        each.add(batch(0, 4000))
    counts.go_on_from(earlier)
    stage = counts.steps.stages[1]
    assert (stage.rows, stage.bytes, stage.state) == (14, 2400, 4000)
    assert (stage.feeds[0].tuples, stage.feeds[0].rows, stage.feeds[0].files) == (1400, 1800, 6)
