"""A job for Flink SQL: a worker's side of the program that runs in Flink's own Python."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from millstream.bench import flink_env
from millstream.bench.data import START_MICROS, csv_parts
from millstream.bench.workload import Setting
from millstream.errors import RunError

STOP_SECONDS = 20.0
SCANS = 3

SOURCES = {
    "csv": "the same rows as CSV, one file for each core: PyFlink comes without a reader of Parquet",
    "datagen": "rows that Flink makes up as it goes, as many and as spread: nothing to read or to parse",
}


class FlinkProgram:
    """A program in Flink's own Python, asked by lines of JSON; a run is from a statement to the end of its job."""

    def __init__(self, program: str, setting: Setting, source: str, job: dict[str, Any]) -> None:
        python = flink_env.installed()
        if python is None:
            raise RunError(f"there is no Flink in {flink_env.folder()}")
        self._source = source
        self._rows = setting.options["rows"]
        whole = {**setting.options, "source": source, "cores": setting.cores, "start": START_MICROS, **job}
        self._process = subprocess.Popen(
            [str(python), str(Path(__file__).with_name(program)), json.dumps(whole)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "JVM_ARGS": f"-Xmx{setting.memory}"},
            text=True,
        )
        self._answer()

    def run(self) -> float:
        """One run."""
        return float(self._ask(do="run")["seconds"])

    def notes(self) -> dict[str, Any]:
        """What its source was, and how fast that is on its own."""
        seconds = [float(self._ask(do="scan")["seconds"]) for _ in range(SCANS)]
        return {
            "source": SOURCES[self._source],
            "source_rows_per_s": round(self._rows / statistics.median(seconds)),
        }

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


class FlinkJob(FlinkProgram):
    """Aggregates per key in a HOP window: count, max and sum, built in, or one in Python."""

    def __init__(self, setting: Setting, source: str, aggregates: str = "built-in") -> None:
        self._aggregates = aggregates
        data = str(csv_parts(Path(setting.data), setting.cores)) if source == "csv" else ""
        super().__init__("flink_program.py", setting, source, {"data": data, "aggregates": aggregates})

    def write_results(self, folder: Path) -> None:
        """One run that keeps its rows: Flink writes them as CSV, and they are turned into Parquet."""
        from pyarrow import dataset as ds

        with tempfile.TemporaryDirectory(prefix="bench-flink-") as place:
            self._ask(do="results", folder=place)
            ds.write_dataset(_read_results(Path(place), self._aggregates), folder, format="parquet")


def _read_results(folder: Path, aggregates: str) -> Any:
    import pyarrow as pa
    from pyarrow import csv
    from pyarrow import dataset as ds

    answers = {"n": pa.int64(), "high": pa.float64(), "total": pa.float64()}
    if aggregates == "python":
        answers = {"answer": pa.float64()}
    fields = pa.schema([("k", pa.int32()), ("window_end", pa.timestamp("us")), *answers.items()])
    layout = ds.CsvFileFormat(read_options=csv.ReadOptions(column_names=fields.names))
    return ds.dataset(folder, schema=fields, format=layout)
