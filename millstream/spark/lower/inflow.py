"""What comes into a stage: its inputs, and the columns that are computed of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from sqlglot import exp

from millstream.plan.algebra import Node
from millstream.spark.expressions import spark_text
from millstream.spark.host import Host
from millstream.spark.lower.direct import Direct, direct
from millstream.spark.lower.lower import lower
from millstream.spark.stage.ingress import Inlet

Columns = Mapping[str, exp.Expression]
"""Columns by name, and how each is computed."""


@dataclass(frozen=True)
class Input:
    """The plan of an input of a stage; its frame is made when it is asked for, as many stages read by themselves."""

    part: Node
    host: Host

    @cached_property
    def frame(self) -> DataFrame:
        """Its tuples by way of Spark, with the marks that speak of their progress."""
        return lower(self.part, self.host, marked=True)


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
    """One input of a stage, the columns that are computed for it, and how they come in."""

    input: Input
    columns: Columns
    inlet: Inlet
    origin: Origin
    port: int = 0

    @property
    def part(self) -> Node:
        """The plan it comes from."""
        return self.input.part

    @cached_property
    def direct(self) -> Direct | None:
        """How the stage reads it by itself, if it does."""
        return direct(self.part, self.origin.name, self.columns, self.input.host)

    @cached_property
    def computed(self) -> dict[str, SparkColumn]:
        """The columns, computed by Spark."""
        return {name: F.expr(spark_text(expression)) for name, expression in self.columns.items()}

    @cached_property
    def schema(self) -> pa.Schema:
        """The types of the columns."""
        if self.direct is not None:
            return self.direct.schema(self.columns)
        frame = self.input.frame.select(*[column.alias(name) for name, column in self.computed.items()])
        return to_arrow_schema(frame.schema, timezone="UTC")
