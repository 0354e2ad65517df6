"""What Flink is asked to do: tables, queries over them, and scans of the sources alone, all in Flink SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class FlinkQuery:
    """A query: its columns with their types, its text, and, if its rows change, the sums that stand for them."""

    columns: str
    select: str
    sums: tuple[str, ...] = ()


@dataclass(frozen=True)
class FlinkJob:
    """One session of Flink. A scan is a query whose rows nobody looks at; all scans run at once."""

    tables: tuple[str, ...]
    queries: Mapping[str, FlinkQuery]
    scans: tuple[FlinkQuery, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    python: bool = False
    """Whether queries call `python_avg`, an aggregate in Python."""

    def to_json(self, cores: int) -> dict[str, Any]:
        """The job in JSON's terms, for the way to Flink's own Python, with the settings that all jobs have."""
        settings = {
            "parallelism.default": str(cores),
            "taskmanager.numberOfTaskSlots": str(cores),
            "table.local-time-zone": "UTC",
            **self.settings,
        }
        return {**asdict(self), "settings": settings}
