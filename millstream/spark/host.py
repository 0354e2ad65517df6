"""What lowering needs to know of the place where a query runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from millstream.connectors.paths import absolute

if TYPE_CHECKING:
    from millstream.connectors.place import QueryPlace


@dataclass(frozen=True)
class Host:
    """A session, the folder that relative addresses start from, and where streams from the network are logged.

    `place` is where the query that is being lowered keeps its state, if it has any, and `buckets` in how many parts.
    `once`: whether queries end with what is there.
    `written` are the folders that queries of this mill write to, and the marks of their files.
    """

    spark: SparkSession
    base: Path
    log_of: Callable[[str], Path]
    place: QueryPlace | None = None
    buckets: int | None = None
    once: bool = False
    written: dict[str, set[str]] = field(default_factory=dict)

    def path(self, place: str) -> str:
        """The absolute form of an address's place."""
        return absolute(self.base, place)
