"""The other end of a worker: starts it, asks it, and watches how much memory it and its children take."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
from types import TracebackType
from typing import Any, Self

import psutil

from millstream.errors import RunError
from millstream_bench.harness.family import SAMPLE_SECONDS, family, taken_bytes
from millstream_bench.harness.workload import Setting

STOP_SECONDS = 20.0
LOG_LINES = 15


class Engine:
    """One engine in a process of its own, so that neither memory nor compiled code is shared with another."""

    WORKER = "millstream_bench.harness.worker"
    """The module that runs there."""

    def __init__(self, workload: str, name: str, setting: Setting) -> None:
        self.name = name
        self.peak_bytes = 0
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the engine)
        self._heard = b""
        self._process = subprocess.Popen(
            [sys.executable, "-m", self.WORKER, workload, name, json.dumps(setting.to_json())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            # Ctrl-C is for the parent, which then ends its workers in order.
            start_new_session=True,
        )
        self._tree = psutil.Process(self._process.pid)

    def ready(self) -> None:
        """Wait until the engine has started."""
        self._answer()

    def run(self) -> float:
        """Have the job done once; the seconds it took."""
        return float(self._ask("run")["seconds"])

    def results(self) -> tuple[int, dict[str, float]]:
        """Have the job done once more: how many rows come out, and the sums over them that can be compared."""
        answer = self._ask("results")
        return int(answer["rows"]), answer["digest"]

    def notes(self) -> dict[str, Any]:
        """What a reader of the figures must know besides them."""
        notes: dict[str, Any] = self._ask("notes")["notes"]
        return notes

    def close(self) -> None:
        """End the worker."""
        with contextlib.suppress(OSError):
            if self._process.stdin:
                self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            for child in family(self._tree):
                with contextlib.suppress(psutil.Error):
                    child.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, request: str) -> dict[str, Any]:
        stdin = self._process.stdin
        if stdin:
            with contextlib.suppress(BrokenPipeError):  # the missing answer tells it better
                stdin.write(f"{request}\n".encode())
                stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        pipe = self._process.stdout
        if pipe is None:
            raise RunError(f"engine {self.name} has no way to answer")
        while b"\n" not in self._heard:
            self._sample()
            if not select.select([pipe], [], [], SAMPLE_SECONDS)[0]:
                continue
            received = os.read(pipe.fileno(), 1 << 16)
            if not received:
                raise RunError(f"engine {self.name} ended without an answer{self._last_words()}")
            self._heard += received
        line, _, self._heard = self._heard.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RunError(f"engine {self.name} failed: {answer['error']}{self._last_words()}")
        return answer

    def _sample(self) -> None:
        self.peak_bytes = max(self.peak_bytes, taken_bytes(self._tree))

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return "".join(f"\n  | {line}" for line in lines[-LOG_LINES:])
