"""Each tuple once per window that it is in: without state, in Spark's own expressions."""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.ahead import EARLIEST, LATEST
from millstream.plan.algebra import AssignWindows
from millstream.spark.names import quoted
from millstream.spark.stage.marks import HIDDEN, MARK
from millstream.windows.cumulate import Cumulate
from millstream.windows.sliding import Sliding

WID = "__wid"


def assign_windows(node: AssignWindows, frame: DataFrame) -> DataFrame:
    """The frame with window_start and window_end; the ids are those of `wids()` of the window."""
    time = F.unix_micros(F.col(quoted(node.time)))
    time = F.when(time.between(EARLIEST, LATEST), time)  # beyond, whole numbers would wrap around
    match node.window:
        case Sliding(range=range_, slide=slide, origin=origin):
            t = time - F.lit(origin)
            first, last = _floor(t - F.lit(range_), slide) + F.lit(1), _floor(t, slide)
            start = F.lit(origin) + F.col(WID) * F.lit(slide)
            end = start + F.lit(range_)
        case Cumulate(step=step, size=size, origin=origin):
            t = time - F.lit(origin)
            steps = size // step
            first, last = _floor(t, step), (_floor(t, size) + F.lit(1)) * F.lit(steps) - F.lit(1)
            start = F.lit(origin) + _floor(F.col(WID), steps) * F.lit(size)
            end = F.lit(origin) + (F.col(WID) + F.lit(1)) * F.lit(step)
        case other:
            raise NotImplementedError(f"no way to assign {type(other).__name__} on Spark")
    ids = F.when(first <= last, F.sequence(first, last))
    if MARK in frame.columns:  # a mark goes on as it is
        ids = F.when(F.col(MARK).isNotNull(), F.array(F.lit(0).cast("bigint"))).otherwise(ids)
    columns = [c for c in frame.columns if c not in HIDDEN]
    hidden = [c for c in frame.columns if c in HIDDEN]
    bounds = (F.timestamp_micros(start).alias("window_start"), F.timestamp_micros(end).alias("window_end"))
    return frame.withColumn(WID, F.explode(ids)).select(*[F.col(quoted(c)) for c in columns], *bounds, *hidden)


def _floor(number: SparkColumn, by: int) -> SparkColumn:
    """The quotient, rounded down, exact for whole numbers of any sign."""
    return F.call_function("div", number - F.pmod(number, F.lit(by)), F.lit(by))
