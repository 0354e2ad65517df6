"""The join of two streams for Flink SQL: a worker's side of the program that runs in Flink's own Python."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from millstream.bench import flink_env
from millstream.bench.data import START_MICROS, csv_parts
from millstream.bench.flink import FlinkJob
from millstream.bench.join_data import SIDES
from millstream.bench.workload import Setting
from millstream.errors import RunError


class FlinkJoin(FlinkJob):
    """An interval join; a run is from the submission of the statement to the job's end."""

    def __init__(self, setting: Setting, source: str, check: Callable[[Path, Setting], None] | None = None) -> None:
        # Nothing of the job of windows fits but the way it talks with its program, so its constructor is not called.
        python = flink_env.installed()
        if python is None:
            raise RunError(f"there is no Flink in {flink_env.folder()}")
        self._setting = setting
        self._check = check
        self._source = source
        self._rows = setting.options["rows"]
        read = SIDES if source == "csv" else ()
        job = {
            **setting.options,
            "source": source,
            "data": {side: str(csv_parts(Path(setting.data) / side, setting.cores)) for side in read},
            "cores": setting.cores,
            "start": START_MICROS,
        }
        self._process = subprocess.Popen(
            [str(python), str(Path(__file__).with_name("flink_join_program.py")), json.dumps(job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "JVM_ARGS": f"-Xmx{setting.memory}"},
            text=True,
        )
        self._answer()

    def write_results(self, folder: Path) -> None:
        """One run that keeps its rows, which are checked: Flink writes CSV, and it is turned into Parquet."""
        import pyarrow as pa
        from pyarrow import csv
        from pyarrow import dataset as ds

        fields = pa.schema([("k", pa.int32()), ("v", pa.float64()), ("w", pa.float64())])
        layout = ds.CsvFileFormat(read_options=csv.ReadOptions(column_names=fields.names))
        with tempfile.TemporaryDirectory(prefix="bench-flink-") as place:
            self._ask(do="results", folder=place)
            ds.write_dataset(ds.dataset(place, schema=fields, format=layout), folder, format="parquet")
        if self._check:
            self._check(folder, self._setting)
