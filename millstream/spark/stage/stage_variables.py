"""The state variables of a stage, as Spark asks for them when a query starts.

Spark starts a Python process on the driver for each stage of a new query, only to learn these. They are always the
same, so the requests that PySpark would send are written down here, and travel with the stage. The process is then
`tell_stage_variables.py`, which only sends them: a query starts a quarter of a second sooner than with PySpark's own.
"""

from __future__ import annotations

from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorApiClient
from pyspark.sql.streaming.stateful_processor_util import (
    TransformWithStateInPandasFuncMode,
    TransformWithStateInPandasUdfUtils,
)

from millstream.spark.process.tell_stage_variables import pack_requests


class _Recorder(StatefulProcessorApiClient):
    """PySpark's client of the state server, without a server: it keeps what would be sent."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []

    def _send_proto_message(self, message: bytes) -> None:
        self.requests.append(message)

    def _receive_proto_message(self) -> tuple[int, str, bytes]:
        return 0, "", b""


def variables_of(processor: StatefulProcessor) -> bytes:
    """What PySpark would tell Spark of the state variables of a processor, packed for `tell_stage_variables.py`."""
    recorder = _Recorder()
    utils = TransformWithStateInPandasUdfUtils(processor, "none")
    utils.transformWithStateUDF(recorder, TransformWithStateInPandasFuncMode.PRE_INIT, None, iter(()))
    return pack_requests(recorder.requests)
