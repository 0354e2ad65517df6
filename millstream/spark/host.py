"""What lowering needs to know of the place where a query runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, SparkSession

from millstream.connectors.paths import absolute

if TYPE_CHECKING:
    from millstream.connectors.place import QueryPlace


def _observed(frame: DataFrame, name: str, metrics: Sequence[Column]) -> DataFrame:
    return frame.observe(name, *metrics)


@dataclass(frozen=True)
class Host:
    """A session, the folder that relative addresses start from, and where streams from the network are logged.

    `place` is where the query that is being lowered keeps its state, if it has any, and `buckets` in how many parts.
    `once`: whether queries end with what is there.
    `written` are the folders that queries of this mill write to, and the marks of their files. `observe` gives a frame
    a name for metrics that Spark computes of its rows.
    """

    spark: SparkSession
    base: Path
    log_of: Callable[[str], Path]
    place: QueryPlace | None = None
    buckets: int | None = None
    once: bool = False
    written: dict[str, set[str]] = field(default_factory=dict)
    observe: Callable[[DataFrame, str, Sequence[Column]], DataFrame] = _observed

    def path(self, place: str) -> str:
        """The absolute form of an address's place."""
        return absolute(self.base, place)
