"""The folder of a query, with its records across restarts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from millstream.errors import RunError

HOLD = "hold"


@dataclass(frozen=True)
class QueryPlace:
    """A folder of the query's own. `id` never changes, and marks what this query has written.

    `fresh`: no batch has begun yet. `new`: the folder was made for this start. `host` is the folder of the host that
    the query is a member of, if it is one: its progress is there.
    """

    folder: Path
    id: str
    fresh: bool
    new: bool = False
    host: Path | None = None

    @property
    def checkpoint(self) -> str:
        """Where Spark keeps its own progress."""
        return str((self.host or self.folder) / "checkpoint")

    @property
    def control(self) -> Path:
        """The folder of marks that are sent to the query."""
        return self.folder / "control"

    @property
    def hold(self) -> Path:
        """The file that, while it is there, says how far the query may read histories (`log_source.py`)."""
        return (self.host or self.folder) / HOLD

    @property
    def has_batches(self) -> bool:
        """Whether any batch was complete."""
        return any((Path(self.checkpoint) / "commits").glob("[0-9]*"))

    @property
    def planned(self) -> int:
        """The number of the last batch that was planned, -1 if there is none."""
        offsets = (Path(self.checkpoint) / "offsets").glob("[0-9]*")
        return max((int(file.name) for file in offsets if file.name.isdecimal()), default=-1)

    def check_reached(self, batch: int, what: str) -> None:
        """Refuse to go on where a batch is kept that the checkpoint knows nothing of: another would be taken for it."""
        if not self.fresh and self.host is None and batch > self.planned:
            raise RunError(
                f"{what} has batch {batch}, and {self.checkpoint} has come to batch {self.planned}: the checkpoint has "
                f"lost what was done\nhelp: bring it back; or remove {self.folder}, and the query begins anew"
            )

    @property
    def has_done_nothing(self) -> bool:
        """Whether no batch was complete, and none was being added to a single file."""
        places = (self, *(replace(self, folder=output) for output in self.folder.glob("outputs/*")))
        records = [place.load("sink") for place in places]
        return not self.has_batches and not any(one.get("batch", -1) >= 0 or one.get("open") for one in records)

    def of_output(self, number: int) -> QueryPlace:
        """A place for one of several sinks: its records lie apart, and what it writes has a mark of its own."""
        folder = self.folder / "outputs" / f"{number:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        return QueryPlace(folder, f"{self.id}{number:02d}", self.fresh)

    def load(self, name: str) -> dict[str, Any]:
        """A small record kept earlier, empty if there is none."""
        file = self.folder / f"{name}.json"
        try:
            return dict(json.loads(file.read_text())) if file.exists() else {}
        except ValueError:
            raise RunError(f"{file} is damaged\nhelp: bring it back, or remove {self.folder} to begin anew") from None

    def save(self, name: str, record: Mapping[str, Any], durable: bool = True) -> None:
        """Keep a small record: the old one or the new one is there at any moment, never half of one.

        One that is `durable` is on disk before anything that comes after it.
        """
        file = self.folder / f"{name}.json"
        new = file.with_suffix(".new")
        with new.open("w") as out:
            out.write(json.dumps(record))
            out.flush()
            if durable:
                os.fsync(out.fileno())
        new.replace(file)
