"""mapInArrow for columns of any name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

Arrow = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def map_in_arrow(frame: DataFrame, names: Sequence[str], function: Arrow, schema: StructType | str) -> DataFrame:
    """The frame that a function makes of batches whose columns have these names.

    PySpark reads the names of the columns as it would read a query: a dot means a field of a struct there. So columns
    with such names travel under other ones.
    """
    if not any(sign in name for name in names for sign in ".`"):
        return frame.mapInArrow(function, schema)

    def rename(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return function(batch.rename_columns(list(names)) for batch in batches)

    return frame.toDF(*(f"_{number}" for number in range(len(names)))).mapInArrow(rename, schema)
