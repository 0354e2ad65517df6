"""The record of a query beside its checkpoint, which says what the checkpoint fits."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from millstream.errors import RunError
from millstream.plan.kept_types import differences


@dataclass(frozen=True)
class QueryRecord:
    """What a query reads and remembers. `types` is None in records of versions that did not write it down.

    The id marks what the query has written, and names folders: it is made here and nowhere else.
    """

    sources: Sequence[str]
    shape: str = ""
    types: Sequence[Mapping[str, str]] | None = None
    text: str = ""
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])

    @classmethod
    def load(cls, file: Path) -> QueryRecord | None:
        """The record in a file, None if there is no file."""
        try:
            loaded: dict[str, Any] = json.loads(file.read_text())
        except FileNotFoundError:
            return None
        except ValueError:
            loaded = {}
        if not isinstance(loaded, dict) or not re.fullmatch("[0-9a-f]{12}", str(loaded.get("id"))):
            raise RunError(
                f"{file} is damaged: it does not name a query\n"
                f"help: bring it back, or remove {file.parent} to start from the beginning"
            )
        known = ("sources", "shape", "types", "text", "id")
        return cls(**{name: loaded[name] for name in known if name in loaded})

    def save(self, file: Path) -> None:
        """Write it down: the old one or the new one is there at any moment, never half of one."""
        new = file.with_suffix(".new")
        new.write_text(json.dumps(asdict(self), indent=1))
        new.replace(file)

    def followed_by(self, now: QueryRecord) -> QueryRecord:
        """The record to go on with. One that knows no types is taken at its word, and knows them from now on."""
        return self if self.types is not None else replace(self, types=now.types)

    def check(self, name: str, now: QueryRecord, folder: Path) -> None:
        """Refuse a query for which the checkpoint is no good, and say what has changed."""
        anew = f"give the query another name, or remove {folder} to start from the beginning"
        if list(self.sources) != list(now.sources):
            raise RunError(
                f"the checkpoint of query {name} belongs to other sources: it has read {', '.join(self.sources)}, "
                f"and now it would read {', '.join(now.sources)}\nhelp: {anew}"
            )
        if self.shape != now.shape:
            raise RunError(
                f"the checkpoint of query {name} holds the state of another window: it was made for\n"
                f"  {self.shape or 'a query without state'}\nand now the query is\n  {now.shape or 'without state'}\n"
                f"help: {anew}"
            )
        if self.types is not None and now.types is not None and (changed := differences(self.types, now.types)):
            raise RunError(
                f"the checkpoint of query {name} holds other values than the query would now keep: "
                f"{'; '.join(changed)}\nhelp: keep what it was, as with CAST(... AS ...); or {anew}"
            )
