"""Runs a reader: the Spark streaming query that lands what a source delivers."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from millstream.connectors.history.landing import PARTS, Landing
from millstream.errors import RunError
from millstream.history.log import Log, Part
from millstream.spark.run.whole_checkpoint import check_whole


def start_landing(
    frame: DataFrame, landing: Landing, log: Log, checkpoint: Path, name: str, once: bool
) -> StreamingQuery:
    """Start to land a frame; with `once`, it ends when it has landed what is there."""
    check_checkpoint(log, checkpoint)
    check_whole(checkpoint.parent, "drop the stream, and its history begins anew")

    def land(batch: DataFrame, number: int) -> None:
        if log.has(number):
            return  # it was landed before a crash: the rows are there, and Spark had not heard of it
        with log.landing() as moment:
            rows = batch.mapInArrow(landing.at(moment), PARTS).collect()
            log.land(number, [Part(*row) for row in rows], moment)

    writer = frame.writeStream.queryName(name).option("checkpointLocation", str(checkpoint))
    writer = writer.trigger(availableNow=True) if once else writer
    return writer.foreachBatch(land).start()


def check_checkpoint(log: Log, checkpoint: Path) -> None:
    """The batches of a log are those of one checkpoint: those of another would be taken for landed, or be missing."""
    landed = log.index.extent.batch
    planned, done = (
        max((int(file.name) for file in (checkpoint / kind).glob("[0-9]*")), default=-1)
        for kind in ("offsets", "commits")
    )
    if not done <= landed <= planned:
        raise RunError(
            f"the history in {log.folder} and {checkpoint} do not belong together: {landed + 1} batches were landed, "
            f"and the reader has planned {planned + 1} and seen the end of {done + 1}\n"
            "help: bring the other one back; or drop the stream, and its history begins anew"
        )
