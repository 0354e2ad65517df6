"""The join of two streams for Flink SQL: a worker's side of the program that runs in Flink's own Python."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from millstream.bench.data import csv_parts
from millstream.bench.flink import FlinkProgram
from millstream.bench.join_data import SIDES
from millstream.bench.workload import Setting


class FlinkJoin(FlinkProgram):
    """An interval join."""

    def __init__(self, setting: Setting, source: str, check: Callable[[Path, Setting], None] | None = None) -> None:
        self._setting = setting
        self._check = check
        read = SIDES if source == "csv" else ()
        data = {side: str(csv_parts(Path(setting.data) / side, setting.cores)) for side in read}
        super().__init__("flink_join_program.py", setting, source, {"data": data})

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
