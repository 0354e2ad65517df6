"""Each tuple once per window that it is in: without state, in Spark's own expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.ahead import EARLIEST, LATEST
from millstream.plan.algebra import AssignWindows
from millstream.spark.names import quoted
from millstream.spark.stage.marks import HIDDEN, MARK
from millstream.windows.panes import Paned

WID = "__wid"


@dataclass(frozen=True)
class _Whole:
    """A column of whole numbers, in which windows can compute as in arrays: `//` rounds down, whatever the sign."""

    column: SparkColumn

    def __add__(self, other: _Whole | int) -> _Whole:
        return _Whole(self.column + _column(other))

    def __radd__(self, other: int) -> _Whole:
        return _Whole(F.lit(other) + self.column)

    def __sub__(self, other: _Whole | int) -> _Whole:
        return _Whole(self.column - _column(other))

    def __mul__(self, other: int) -> _Whole:
        return _Whole(self.column * F.lit(other))

    def __floordiv__(self, by: int) -> _Whole:
        return _Whole(F.call_function("div", self.column - F.pmod(self.column, F.lit(by)), F.lit(by)))


def _column(value: _Whole | int) -> SparkColumn:
    return value.column if isinstance(value, _Whole) else F.lit(value)


def assign_windows(node: AssignWindows, frame: DataFrame) -> DataFrame:
    """The frame with window_start and window_end, as `spans` and `bounds` of the window say."""
    time = F.unix_micros(F.col(quoted(node.time)))
    time = F.when(time.between(EARLIEST, LATEST), time)  # beyond, whole numbers would wrap around
    first, last, start, end = _computed(node.window, time)
    ids = F.when(first <= last, F.sequence(first, last))
    if MARK in frame.columns:  # a mark goes on as it is
        ids = F.when(F.col(MARK).isNotNull(), F.array(F.lit(0).cast("bigint"))).otherwise(ids)
    columns = [c for c in frame.columns if c not in HIDDEN]
    hidden = [c for c in frame.columns if c in HIDDEN]
    bounds = (F.timestamp_micros(start).alias("window_start"), F.timestamp_micros(end).alias("window_end"))
    return frame.withColumn(WID, F.explode(ids)).select(*[F.col(quoted(c)) for c in columns], *bounds, *hidden)


def _computed(window: Paned, time: SparkColumn) -> tuple[SparkColumn, SparkColumn, SparkColumn, SparkColumn]:
    """The first and the last id of a time, and the bounds of the window WID."""
    if window.endless:
        raise NotImplementedError(f"a tuple is in {window.noun} for ever, and cannot be written once for each")
    of_time: Any = _Whole(time)
    of_wid: Any = _Whole(F.col(WID))
    found: Any = (*window.spans(of_time), *window.bounds(of_wid))
    first, last, start, end = (_column(number) for number in found)
    return first, last, start, end
