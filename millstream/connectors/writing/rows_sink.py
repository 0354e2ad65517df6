"""Rows handed to this process: the terminal, and results that are kept to be read."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame

from millstream.connectors.writing.text import readable

Deliver = Callable[[pa.Table, int], None]
"""Takes the rows of a micro-batch, and its number."""


class RowsSink:
    """Gives each micro-batch with rows to a function, as one Arrow table."""

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver

    def prepare(self, frame: DataFrame) -> DataFrame:
        """Text where Python knows nothing else."""
        return readable(frame)

    def write(self, frame: DataFrame, batch: int) -> int:
        """Hand a batch over."""
        return self.write_table(frame.toArrow(), batch)

    def write_table(self, table: pa.Table, batch: int) -> int:
        """Hand over a batch that is a table."""
        if table.num_rows:
            self._deliver(table, batch)
        return int(table.num_rows)

    def close(self) -> None:
        """Nothing is held."""
