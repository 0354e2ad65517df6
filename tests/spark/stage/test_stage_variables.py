"""What Spark is told of the state variables of a stage is what PySpark would tell it."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor_util import TransformWithStateInPandasUdfUtils
from pyspark.sql.types import StructType

from millstream.spark.process import tell_stage_variables
from millstream.spark.process.session import PYTHON_OF_WORKERS
from millstream.spark.process.tell_stage_variables import unpack_requests
from millstream.spark.stage.outlet import Outlet
from millstream.spark.stage.stage import BLOB, NAME, VERSION, Stage
from millstream.spark.stage.stage_variables import variables_of

WORKER = ["-m", "pyspark.sql.streaming.transform_with_state_driver_worker"]
KEY = StructType().add("bucket", "integer").json().encode()


class Foreign(StatefulProcessor):
    """A processor that is not ours, with the variables of a stage."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        handle.getMapState("blobs", NAME, BLOB)
        handle.getValueState("version", VERSION)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        return iter(())

    def close(self) -> None:
        pass


def framed(part: bytes) -> bytes:
    return struct.pack("!i", len(part)) + part


class Spark:
    """Spark's side of the conversation: one connection for the process, one for the state."""

    def __init__(self, processor: StatefulProcessor, reply: bytes = b"") -> None:
        self.requests: list[bytes] = []
        self.said: list[int] = []
        self.problem = b""
        self._processor, self._reply = processor, reply
        self._state = socket.create_server(("127.0.0.1", 0))
        self._server = socket.create_server(("127.0.0.1", 0))

    def ask(self) -> None:
        threads = [threading.Thread(target=self._serve_state, daemon=True), threading.Thread(target=self._serve)]
        for thread in threads:
            thread.start()
        port = str(self._server.getsockname()[1])
        told = {"PYTHON_WORKER_FACTORY_PORT": port, "PYTHON_WORKER_FACTORY_SECRET": "s", "PYTHONPATH": str(Path.cwd())}
        env = {**os.environ, **told, "MILLSTREAM_PYTHON": sys.executable}
        subprocess.run([PYTHON_OF_WORKERS, *WORKER], env=env, check=True, capture_output=True, timeout=60)
        threads[1].join(60)

    def _serve(self) -> None:
        file = self._server.accept()[0].makefile("rwb")
        assert tell_stage_variables.read_bytes(file) == b"s"
        file.write(framed(b"ok"))
        version = "{}.{}".format(*sys.version_info[:2]).encode()
        function = TransformWithStateInPandasUdfUtils(self._processor, "none").transformWithStateUDF
        file.write(framed(version) + framed(cloudpickle.dumps((function, None))))
        file.flush()
        self.said = [tell_stage_variables.read_int(file), tell_stage_variables.read_int(file)]
        file.write(struct.pack("!i", self._state.getsockname()[1]) + framed(KEY))
        file.flush()
        self.said.append(tell_stage_variables.read_int(file))
        if self.said[-1]:
            self.problem = tell_stage_variables.read_bytes(file)

    def _serve_state(self) -> None:
        file = self._state.accept()[0].makefile("rwb")
        with contextlib.suppress(ConnectionError):  # the process may have had enough
            while version := file.read(4):
                assert version == bytes(4)
                self.requests.append(tell_stage_variables.read_bytes(file))
                file.write(framed(self._reply))
                file.flush()


def stage() -> Stage:
    return Stage(Outlet("q", 1, pa.schema([]), lambda blobs: None, (), (), (), None))  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("processor", [stage(), Foreign()])
def test_the_requests_are_those_of_pyspark(processor: StatefulProcessor) -> None:
    spark = Spark(processor)
    spark.ask()
    found = unpack_requests(variables_of(Foreign()))
    assert found is not None
    assert (len(spark.requests), b"".join(bytes(4) + framed(request) for request in spark.requests)) == found
    assert spark.said[1:] == [0, 0]


def test_a_refusal_is_told_to_spark() -> None:
    spark = Spark(stage(), reply=b"\x08\x01\x12\x04none")
    spark.ask()
    assert spark.said[2] == tell_stage_variables.FAILED
    assert spark.problem.startswith(b"Spark refused a state variable of a stage: ")
    assert b"none" in spark.problem


def test_the_process_of_a_stage_loads_no_package() -> None:
    code = "import sys; exec(open(sys.argv[1]).read(), {'__name__': 'loaded'}); print(*sys.modules)"
    run = [sys.executable, "-S", "-c", code, tell_stage_variables.__file__]
    loaded = subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()
    assert not {"typing", "pyspark", "millstream", "numpy", "json", "pathlib"} & set(loaded)


@pytest.mark.parametrize("answered", [b"", b"x", None])
def test_nobody_waits_for_a_query_that_was_stopped_while_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answered: bytes | None
) -> None:
    """Spark then neither takes the connection, nor closes its port: that is written down."""
    monkeypatch.setattr(tell_stage_variables, "PATIENCE_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as spark:
        port = str(spark.getsockname()[1])
        monkeypatch.setenv("PYTHON_WORKER_FACTORY_PORT", port)
        monkeypatch.setenv("PYTHON_WORKER_FACTORY_SECRET", "secret")
        monkeypatch.setenv("MILLSTREAM_PORTS", str(tmp_path))

        def close() -> None:
            connection, _ = spark.accept()
            connection.sendall(answered or b"")
            connection.close()

        if answered is not None:
            threading.Thread(target=close, daemon=True).start()
        assert "Spark does not ask" in str(tell_stage_variables.main())
    assert [file.name for file in tmp_path.iterdir()] == [port]
