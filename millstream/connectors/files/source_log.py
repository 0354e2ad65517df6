"""Spark's lists of the files of each batch, in the checkpoint of a query.

`offsets/BATCH` says for each source up to where the batch goes, `sources/SOURCE/NUMBER` names files, one a line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from millstream.connectors.places.aliases import real_path

LONG_BYTES = 8192
"""From where on a list of files is worth making shorter: about 50 names."""

KNOWN = 20
"""Of so many batches Spark still says which files they had."""

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


def landed_files(checkpoint: Path) -> list[str]:
    """The names of the files of the newest batches of a query whose end was written down, and of those before."""
    done = max((int(file.name) for file in (checkpoint / "commits").glob("[0-9]*")), default=-1)
    files = [file for batch in range(max(done - KNOWN, 0), done + 1) for file in files_of(checkpoint, batch)]
    return [Path(real_path(str(file.path))).name for file in files]


def forget_gone(checkpoint: Path, folder: Path) -> None:
    """Take the files that are gone from Spark's list of all that came from a folder: it would grow for ever.

    Only for a folder in which no name comes again, and from which files go when the batch that read them has ended:
    Spark will not ask for them any more.
    """
    for log in checkpoint.glob("sources/*"):
        newest = max(log.glob("*.compact"), key=lambda file: int(file.stem), default=None)
        try:
            if newest is not None and newest.stat().st_size > LONG_BYTES and _first(newest).parent == folder:
                _shorten(newest, folder)
        except FileNotFoundError:  # there is a newer one, and Spark has removed this one
            continue


def _first(log: Path) -> Path:
    with log.open() as lines:
        lines.readline()  # the version
        return Path(real_path(str(_read_path(lines.readline()))))


def _shorten(log: Path, folder: Path) -> None:
    lines = log.read_text().split("\n")
    there = {file.name for file in folder.iterdir()}
    kept = [lines[0], *(line for line in lines[1:] if _read_path(line).name in there)]
    if len(kept) < len(lines):
        new = log.with_name(".shorter")
        new.write_text("\n".join(kept))
        new.replace(log)


def _read_path(line: str) -> Path:
    return Listed(NONE, json.loads(line)["path"]).path


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
