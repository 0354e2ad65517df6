"""Where one query keeps what it must remember across restarts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class QueryPlace:
    """A folder of the query's own. `id` never changes, and marks what this query has written."""

    folder: Path
    id: str
    fresh: bool

    @property
    def checkpoint(self) -> str:
        """Where Spark keeps its own progress."""
        return str(self.folder / "checkpoint")

    @property
    def control(self) -> Path:
        """The folder of marks that are sent to the query."""
        return self.folder / "control"

    def of_output(self, number: int) -> QueryPlace:
        """A place for one of several sinks: its records lie apart, and what it writes has a mark of its own."""
        folder = self.folder / "outputs" / f"{number:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        return QueryPlace(folder, f"{self.id}{number:02d}", self.fresh)

    def load(self, name: str) -> dict[str, int]:
        """A small record kept earlier, empty if there is none."""
        file = self.folder / f"{name}.json"
        return dict(json.loads(file.read_text())) if file.exists() else {}

    def save(self, name: str, record: dict[str, int]) -> None:
        """Keep a small record: the old one or the new one is there at any moment, never half of one."""
        file = self.folder / f"{name}.json"
        new = file.with_suffix(".new")
        new.write_text(json.dumps(record))
        new.replace(file)
