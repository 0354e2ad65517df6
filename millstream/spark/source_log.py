"""Spark's own lists of the files that it has given to each batch, in the checkpoint of a query.

`offsets/BATCH` says for each source up to where the batch goes, `sources/SOURCE/NUMBER` names files, one a line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

NONE = -1
"""Stands for the number of a list where there is none."""


@dataclass(frozen=True)
class Listed:
    """A file that Spark has given to a batch: for which source, and its address."""

    source: int
    url: str

    @property
    def path(self) -> Path:
        """Where it is on this machine."""
        return Path(unquote(urlsplit(self.url).path))


def files_of(checkpoint: Path, batch: int) -> list[Listed]:
    """The files that a batch was given, by their source and in its order."""
    before = _ends(checkpoint, batch - 1)
    found = []
    for source, end in enumerate(_ends(checkpoint, batch)):
        begun = before[source] if source < len(before) else NONE
        for number in range(begun + 1, end + 1):
            found += _list(checkpoint / "sources" / str(source), source, number)
    return found


def _ends(checkpoint: Path, batch: int) -> list[int]:
    """The last list of each source that belongs to a batch; NONE where there is none."""
    file = checkpoint / "offsets" / str(batch)
    if batch < 0 or not file.exists():
        return []
    ends = []
    for line in file.read_text().split("\n")[2:]:
        offset = json.loads(line) if line.startswith("{") else {}
        ends.append(int(offset.get("logOffset", NONE)))
    return ends


def _list(folder: Path, source: int, number: int) -> list[Listed]:
    log = folder / str(number)
    if not log.exists():
        log = folder / f"{number}.compact"  # from time to time Spark makes one list of all
    if not log.exists():
        return []
    entries = [json.loads(line) for line in log.read_text().split("\n") if line.startswith("{")]
    return [Listed(source, entry["path"]) for entry in entries if entry["batchId"] == number]
