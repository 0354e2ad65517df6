"""The record of a query beside its checkpoint, which says what the checkpoint fits."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millstream.errors import RunError
from millstream.plan.fingerprint.differences import differences
from millstream.plan.fingerprint.fingerprint import Fingerprint
from millstream.plan.fingerprint.kept_panes import has_kept_panes

VERSION = 2
"""Of the words in which fingerprints tell what computes: those of another version cannot be compared with them."""


@dataclass(frozen=True)
class QueryRecord:
    """What a query reads, and the fingerprints of its steps with state; None in records of earlier versions.

    The id marks what the query has written, and names folders: it is made here and nowhere else.
    """

    sources: Sequence[str]
    steps: tuple[Fingerprint, ...] | None = ()
    text: str = ""
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])

    @classmethod
    def load(cls, file: Path) -> QueryRecord | None:
        """The record in a file, None if there is no file."""
        try:
            loaded: Any = json.loads(file.read_text())
        except FileNotFoundError:
            return None
        except ValueError:
            loaded = {}
        found = _read(loaded)
        if found is None or not re.fullmatch("[0-9a-f]{12}", found.id):
            raise RunError(
                f"{file} is damaged: it does not name a query\n"
                f"help: bring it back, or remove {file.parent} to start from the beginning"
            )
        return found

    def save(self, file: Path) -> None:
        """Write it down: the old one or the new one is there at any moment, never half of one."""
        new = file.with_suffix(".new")
        steps = [step.to_json() for step in self.steps or ()]
        record = {"version": VERSION, "sources": list(self.sources), "steps": steps, "text": self.text, "id": self.id}
        new.write_text(json.dumps(record, indent=1))
        new.replace(file)

    def changes(self, now: QueryRecord, alone: bool) -> str | None:
        """What stands in the way of going on as another query, in words; None if nothing does."""
        if list(self.sources) != list(now.sources):
            return f"it has read {', '.join(self.sources)}, and would read {', '.join(now.sources)}"
        if self.steps is None:
            return "it was written by an earlier version, which did not say what its state is good for"
        return "; ".join(self._differences(now, alone)) or None

    def check(self, name: str, now: QueryRecord, folder: Path, alone: bool = True) -> None:
        """Refuse a query for which the checkpoint is no good, and say what has changed."""
        anew = f"give the query another name, or remove {folder} to start from the beginning"
        if list(self.sources) != list(now.sources):
            raise RunError(
                f"the checkpoint of query {name} belongs to other sources: it has read {', '.join(self.sources)}, "
                f"and now it would read {', '.join(now.sources)}\nhelp: {anew}"
            )
        if self.steps is None:
            raise RunError(
                f"the checkpoint of query {name} was written by an earlier version, which did not say what its state "
                f"is good for as this one does\nhelp: {anew}"
            )
        if changed := self._differences(now, alone):
            raise RunError(
                f"the checkpoint of query {name} holds other state than the query would now keep: "
                f"{'; '.join(changed)}\nhelp: keep what it was; or {anew}"
            )

    def _differences(self, now: QueryRecord, alone: bool) -> list[str]:
        """What has changed of the steps with state; nothing if all their windows can be read from the panes there are.

        The plan of a query that runs `alone` has the panes that are kept (`keep_panes.py`), whatever its windows are.
        """
        steps = self.steps or ()
        panes = alone and has_kept_panes(steps, now.steps or ())
        return [] if panes else differences(steps, now.steps or ())


def _read(loaded: Any) -> QueryRecord | None:
    """The record that was written; None if it is none."""
    try:
        if not isinstance(loaded, dict):
            return None
        written = loaded.get("steps")
        known = written == [] or loaded.get("version") == VERSION
        steps = tuple(map(Fingerprint.from_json, written)) if known and written is not None else None
        return QueryRecord(loaded["sources"], steps, loaded.get("text", ""), str(loaded["id"]))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
