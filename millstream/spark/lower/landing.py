"""The frame that a reader lands: the rows of a source with the columns of the log."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema

from millstream.catalog.definitions import INTERNAL_COLUMN, Stream, TimeStamp
from millstream.connectors.arrivals import Arrivals, judge_rows, spark_schema, time_of
from millstream.connectors.formats.rejection import Explainer
from millstream.connectors.history.landing import TIME, Landing
from millstream.connectors.registry import connector
from millstream.connectors.sources import open_rejected, open_stream
from millstream.history.log import HIDDEN
from millstream.progress.promise_mark import MARK
from millstream.spark.host import Host
from millstream.spark.lower.time_bounds import bound_of
from millstream.spark.names import quoted
from millstream.spark.stage.arrival_order import FILE, FILE_SQL


def landing_frame(host: Host, stream: Stream) -> tuple[DataFrame, Landing]:
    """All rows that a source delivers, judged once and for all, and how they are landed.

    What is good is that for every query and at any later time: the clock that AHEAD asks is that of the landing.
    """
    assert stream.source is not None  # noqa: S101  (one without source is fed)
    raw = replace(stream, keep=None)
    arrivals = open_stream(host, raw) if stream.fed else open_rejected(host, raw)
    filed = arrivals.filed
    if not filed and connector(stream.source).files:
        arrivals, filed = replace(arrivals, frame=arrivals.frame.withColumn(FILE, F.expr(FILE_SQL))), True
    external = stream.time_stamp is TimeStamp.EXTERNAL
    time = time_of(raw) if external else F.lit(None).cast("bigint")
    columns = [F.col(quoted(c.name)) for c in stream.arriving_schema]
    others = [F.col(name) for name in (*([FILE] if filed else []), *([MARK] if stream.fed else []))]
    frame = judge_rows(arrivals, raw, bound_of(raw, host), *columns, time.alias(TIME), *others)
    stamp = next((c.name for c in stream.schema if c.name.lower() == INTERNAL_COLUMN), None)
    explainer = _explainer(arrivals)
    internal = stream.time_stamp is TimeStamp.INTERNAL
    names = tuple(c.name for c in stream.arriving_schema)
    return frame, Landing(host.history_of(stream.name), names, explainer, stamp if internal else None)


def _explainer(arrivals: Arrivals) -> Explainer:
    return Explainer(arrivals.fields, arrivals.text_format, arrivals.delimiter, arrivals.header)


def log_schema(stream: Stream) -> pa.Schema:
    """The columns of the log of a stream, as Spark sends them."""
    columns = to_arrow_schema(spark_schema(stream.landed_schema), timezone="UTC")
    return pa.schema([*columns, *(pa.field(name, pa.string()) for name in HIDDEN)])
