"""One query in the hands of Flink SQL."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyarrow import csv
from pyarrow import dataset as ds

from millstream_bench.flink.job import FlinkJob
from millstream_bench.flink.session import FlinkSession
from millstream_bench.harness.workload import Setting

NAME = "query"


class OneQuery(FlinkSession):
    """A session whose job has one query, called `query`; `fields` are the columns of its rows."""

    def __init__(
        self,
        setting: Setting,
        source: str,
        job: FlinkJob,
        fields: pa.Schema,
        check: Callable[[Path, Setting], None] | None = None,
    ) -> None:
        self._setting = setting
        self._fields = fields
        self._check = check
        super().__init__(setting, source, job)

    def run(self) -> float:
        """One run."""
        return self.run_query(NAME)

    def write_results(self, folder: Path) -> None:
        """One run that keeps its rows, which are checked: Flink writes CSV, and it is turned into Parquet."""
        with tempfile.TemporaryDirectory(prefix="bench-flink-") as place:
            self.keep_rows(NAME, Path(place))
            ds.write_dataset(read_rows(Path(place), self._fields), folder, format="parquet")
        if self._check:
            self._check(folder, self._setting)


def read_rows(folder: Path, fields: pa.Schema) -> ds.Dataset:
    """The rows that Flink has written as CSV without a header."""
    layout = ds.CsvFileFormat(read_options=csv.ReadOptions(column_names=fields.names))
    return ds.dataset(folder, schema=fields, format=layout)
