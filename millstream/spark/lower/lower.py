"""The way from a plan to a frame of Spark; what each node becomes stands in lowering.py."""

from __future__ import annotations

from functools import singledispatch

from pyspark.sql import DataFrame

from millstream.plan.algebra import Node
from millstream.spark.host import Host


@singledispatch
def lower(node: Node, host: Host, marked: bool = False) -> DataFrame:
    """The frame that computes a node; `marked`, with the marks of progress among its rows (spark/marks.py)."""
    raise NotImplementedError(f"no way to run {type(node).__name__} on Spark")
