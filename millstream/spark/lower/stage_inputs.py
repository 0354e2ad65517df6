"""The inputs of a stage, and the columns that are computed for each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema

from millstream.expressions.compile.spark import spark_text
from millstream.plan.algebra import Node
from millstream.plan.physical.nodes import ArrowRead, Exchange
from millstream.spark.host import Host
from millstream.spark.lower.lower import lower
from millstream.spark.stage.ingress import Inlet


@dataclass(frozen=True)
class Origin:
    """Where the tuples of an input come from: a source with a slack, or the buckets of the stage before.

    `time` is the time stamp in Spark's words, computed of the column of that `name`, if there is one.
    """

    name: str | None
    time: str
    slack: int | None
    origins: int = 0
    promised: str | None = None


@dataclass(frozen=True)
class Inflow:
    """One input of a stage, on its way into it."""

    exchange: Exchange
    inlet: Inlet
    origin: Origin
    host: Host

    @property
    def part(self) -> Node:
        """The logical plan it comes from."""
        return self.exchange.part

    @cached_property
    def frame(self) -> DataFrame:
        """Its tuples by way of Spark, with the marks that speak of their progress."""
        return lower(self.exchange.below, self.host, marked=True)

    @cached_property
    def computed(self) -> dict[str, SparkColumn]:
        """The columns, computed by Spark."""
        return {name: F.expr(spark_text(expression)) for name, expression in self.exchange.columns.items()}

    @cached_property
    def schema(self) -> pa.Schema:
        """The types of the columns."""
        read = self.exchange.below
        if isinstance(read, ArrowRead):
            return pa.schema([pa.field(name, read.types[name]) for name in self.exchange.columns])
        frame = self.frame.select(*[column.alias(name) for name, column in self.computed.items()])
        return to_arrow_schema(frame.schema, timezone="UTC")
