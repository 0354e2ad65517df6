"""A session of Flink SQL: a worker's side of the program that runs in Flink's own Python."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
from pathlib import Path
from typing import Any

from millstream.errors import RunError
from millstream_bench.flink import environment
from millstream_bench.flink.job import FlinkJob
from millstream_bench.harness.workload import Setting

PROGRAM = Path(__file__).with_name("program.py")
STOP_SECONDS = 20.0
SCANS = 3

SOURCES = {
    "csv": "the same rows as CSV, one file for each core: PyFlink comes without a reader of Parquet",
    "datagen": "rows that Flink makes up as it goes, as many and as spread: nothing to read or to parse",
}


class FlinkSession:
    """A program in Flink's own Python, asked by lines of JSON; a run is from a statement to the end of its job."""

    def __init__(self, setting: Setting, source: str, job: FlinkJob) -> None:
        python = environment.installed()
        if python is None:
            raise RunError(f"there is no Flink in {environment.folder()}")
        self._source = source
        self._rows = setting.options["rows"]
        self._process = subprocess.Popen(
            [str(python), str(PROGRAM), json.dumps(job.to_json(setting.cores))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "JVM_ARGS": f"-Xmx{setting.memory}"},
            text=True,
        )
        self._answer()

    def run_query(self, query: str) -> float:
        """One run of a query; the seconds it took."""
        return float(self._ask(do="run", query=query)["seconds"])

    def keep_rows(self, query: str, folder: Path) -> None:
        """One run that keeps its rows as CSV in a folder."""
        self._ask(do="results", query=query, folder=str(folder))

    def keep_sums(self, query: str) -> dict[str, float]:
        """One run of a query whose rows change: the sums over the last ones."""
        sums: dict[str, float] = self._ask(do="sums", query=query)["sums"]
        return sums

    def notes(self) -> dict[str, Any]:
        """What its source was, and how fast that is on its own."""
        seconds = [float(self._ask(do="scan")["seconds"]) for _ in range(SCANS)]
        return {"source": SOURCES[self._source], "source_rows_per_s": round(self._rows / statistics.median(seconds))}

    def close(self) -> None:
        """End Flink."""
        with contextlib.suppress(OSError):
            if self._process.stdin:
                self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self, **request: Any) -> dict[str, Any]:
        with contextlib.suppress(BrokenPipeError):  # the missing answer tells it better
            if self._process.stdin:
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise RunError("Flink ended without an answer")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RunError(answer["error"])
        return answer
