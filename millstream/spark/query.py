"""A plan on its way: started as a Spark streaming query that feeds a sink."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from millstream.catalog.definitions import Sink
from millstream.spark.host import Host
from millstream.spark.progress import Counts
from millstream.spark.sinks import Deliver, QueryPlace, open_sink


def start(
    host: Host,
    frame: DataFrame,
    sink: Sink,
    place: QueryPlace,
    deliver: Deliver,
    counts: Counts,
    *,
    name: str,
    once: bool,
    trigger: timedelta,
) -> StreamingQuery:
    """Start the plan. With `once` it ends by itself when it has read what was there at its start."""
    writer = frame.writeStream.queryName(name).option("checkpointLocation", place.checkpoint)
    writer = (
        writer.trigger(availableNow=True)
        if once
        else writer.trigger(processingTime=f"{trigger // timedelta(milliseconds=1)} milliseconds")
    )
    target = open_sink(host, sink, place, deliver)
    if target is None:
        return writer.format("noop").start()

    def write(frame: DataFrame, batch: int) -> None:
        counts.rows_out += target.write(frame, batch)

    return writer.foreachBatch(write).start()
