"""The stage: an operator in Spark's transformWithState, one bucket at a time.

What the stage does stays packed until there is data. Its state variables travel beside it, for Spark to read when a
query starts (`stage_variables.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StringType, StructType

from millstream.spark.stage.stage_variables import variables_of

if TYPE_CHECKING:
    import pandas as pd

    from millstream.spark.stage.outlet import Outlet


# Typed: a schema that is text would be sent to the JVM to be parsed, for every task.
NAME = StructType().add("name", StringType())
BLOB = StructType().add("blob", BinaryType())
VERSION = StructType().add("version", LongType())


class Stage(StatefulProcessor):
    """Spark's side of a stage; the state of every stage of every query has the same two variables."""

    def __init__(self, outlet: Outlet) -> None:
        self._packed: bytes = cloudpickle.dumps(outlet)  # type: ignore[no-untyped-call]
        self._variables = variables_of(self)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark calls this before the first bucket."""
        self._blobs = handle.getMapState("blobs", NAME, BLOB)
        self._version = handle.getValueState("version", VERSION)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Spark calls this with all packets of a bucket in a batch."""
        from millstream.spark.stage.bucket_run import BucketRun

        outlet: Outlet = cloudpickle.loads(self._packed)
        payloads = (bytes(payload) for frame in rows for payload in frame["payload"])
        return BucketRun(outlet, int(key[0]), self._blobs, self._version).run(payloads)

    def close(self) -> None:
        """Spark calls this after the last bucket."""
