"""Tuples matched with registrations, in Python beside Spark's own steps."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import LongType, StructField, StructType

from millstream.catalog.arrow import to_arrow
from millstream.expressions.compile.spark import spark_text
from millstream.plan.physical.index_registrations import IndexedMatch
from millstream.spark.host import Host
from millstream.spark.names import quoted
from millstream.spark.stage.map_arrow import map_in_arrow
from millstream.spark.stage.marks import AT, LEFT_OUT
from millstream.spark.stage.match import Matching


def lower_match(node: IndexedMatch, below: DataFrame, host: Host) -> DataFrame:
    """The frame of pairs of a tuple and a registration that it meets."""
    assert host.registrations is not None  # noqa: S101  (a template has a place)
    step = node.step
    names = below.columns
    parameters = []
    for item in step.columns:
        type_ = to_arrow(item.type)
        assert type_ is not None  # noqa: S101  (the binder refuses others)
        if item.name != step.registration:
            parameters.append((item.name, type_, item.own))
    given = tuple(column.name for column in step.given)
    matching = Matching(
        version=uuid.uuid4().hex,
        log=host.registrations,
        terms=node.terms,
        registration=step.registration,
        parameters=tuple(parameters),
        tuples=tuple(names),
        given=given,
    )
    fields = list(below.schema.fields)
    if AT in names and LEFT_OUT not in names:
        fields.append(StructField(LEFT_OUT, LongType()))
    types = {matching.registration: pa.int64(), **{name: type_ for name, type_, _ in parameters}}
    fields += [StructField(name, from_arrow_type(types[name])) for name in given]
    frame = below
    if node.computed:
        computed = [F.expr(spark_text(e)).alias(name) for name, e in node.computed.items()]
        frame = below.select(*[F.col(quoted(name)) for name in names], *computed)

    def match(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return matching(batches)

    return map_in_arrow(frame, frame.columns, match, StructType(fields))
