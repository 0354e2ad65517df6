"""Runs of a query that has yet to begin, to no sink: they leave behind what it has read, and its state.

Over the history of its streams such a run fills the state. With sources that let no row through it passes over all that
these hold (STARTING NOW): then the checkpoint says that it has been read, and the state that nothing has been seen.
"""

from __future__ import annotations

from datetime import timedelta

from millstream.catalog.definitions import Query
from millstream.catalog.heartbeats import Heartbeats
from millstream.connectors.places.query_place import QueryPlace
from millstream.mill.engine.running import RunningQuery
from millstream.mill.manner import Manner
from millstream.plan.algebra import Node
from millstream.plan.physical.choose_buckets import bucket_count
from millstream.plan.physical.place_partials import reduces
from millstream.plan.reads import streams_of
from millstream.spark.host import Host
from millstream.spark.lower.lowering import lower
from millstream.spark.run.progress import ProgressListener
from millstream.spark.run.query import Clocks, start


def run_unheard(
    query: Query, plan: Node, place: QueryPlace, here: Host, progress: ProgressListener, label: str, manner: Manner
) -> None:
    """Bring a query, given by its physical plan, to the end of what is to be read on a host where queries run once."""
    counts = progress.follow(label)
    try:
        handle = start(
            here,
            lower(plan, here),
            None,
            place,
            counts,
            name=label,
            trigger=timedelta(0),
            clocks=Clocks(None, (), Heartbeats(never=True), ends=False),
            streams=streams_of(plan),
            reduces=reduces(plan),
            buckets=bucket_count(plan),
        )
    except BaseException:
        counts.let_go()
        raise
    running = RunningQuery(query, handle, counts, None, place, manner)
    try:
        running.wait()
    finally:
        running.stop()
