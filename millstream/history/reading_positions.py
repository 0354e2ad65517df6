"""The positions of a log that queries have still to read: all after their last committed batch, running or not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from millstream.errors import RunError

STARTS = "starts.json"

MEMBER = "member.json"
"""Says, in the folder of a query that is a member of a host, which folder has its progress: its path in the home."""

UNKNOWN = 1 << 62
"""Further than any log reaches."""


def find_reading_positions(folders: Iterator[Path], stream: str) -> dict[str, int]:
    """The position from which each query, by the name of its folder, goes on reading a stream."""
    found = {}
    for folder in folders:
        if (position := _find_next_position(folder, stream.lower())) is not None:
            found[folder.name] = position
    return found


def _find_next_position(folder: Path, stream: str) -> int | None:
    """Where the next batch of a query begins in the log of a stream; None if the query does not read it."""
    try:
        starts = json.loads((folder / STARTS).read_text())["starts"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError):
        raise RunError(f"{folder / STARTS} is damaged\nhelp: bring it back, or remove {folder}") from None
    if stream not in starts:
        return None
    begin = int(starts[stream][0])
    if (host := _host_of(folder)) is not None:
        begin = min(begin, _begin_of(host, stream, begin))
    checkpoint = (host or folder) / "checkpoint"
    return min(_ends(checkpoint, _last(checkpoint / "commits"), stream), default=begin)


def planned_end(host: Path, stream: str) -> int:
    """The position in the log of a stream up to which a host has planned its batches."""
    checkpoint, name = host / "checkpoint", stream.lower()
    last = _last(checkpoint / "offsets")
    return _begin_of(host, name, 0) if last < 0 else min(_ends(checkpoint, last, name), default=UNKNOWN)


class ReadTo(NamedTuple):
    """The end of the last batch that a query has planned: of each stream the positions of all that read it.

    `done`: whether the batch is committed. If it is not, some of its answers may have been given, or none.
    """

    ends: Mapping[str, Sequence[int]]
    done: bool


def read_to(checkpoint: Path) -> ReadTo:
    """How far the query with that checkpoint has read histories."""
    planned = _last(checkpoint / "offsets")
    found: dict[str, list[int]] = {}
    for offset in _offsets(checkpoint, planned):
        if "stream" in offset:
            found.setdefault(str(offset["stream"]), []).append(int(offset["position"]))
    return ReadTo(found, _last(checkpoint / "commits") >= planned)


def _last(batches: Path) -> int:
    """The last batch of which a checkpoint has such a file, -1 if there is none."""
    return max((int(file.name) for file in batches.glob("[0-9]*")), default=-1)


def _ends(checkpoint: Path, batch: int, stream: str) -> list[int]:
    """The positions in the log of a stream at which a batch ends, one for each time that it is read."""
    found = _offsets(checkpoint, batch)
    return [int(offset["position"]) for offset in found if offset.get("stream") == stream]


def _offsets(checkpoint: Path, batch: int) -> list[dict[str, Any]]:
    """The offsets of a batch, of those that may be of logs."""
    try:
        lines = (checkpoint / "offsets" / str(batch)).read_text().split("\n") if batch >= 0 else []
    except FileNotFoundError:  # a later batch has ended meanwhile
        lines = []
    return [json.loads(line) for line in lines if line.startswith('{"position"') or '"stream"' in line]


def _host_of(folder: Path) -> Path | None:
    """The folder of the host that a query is a member of."""
    try:
        return folder.parent.parent / str(json.loads((folder / MEMBER).read_text())["folder"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError):
        raise RunError(f"{folder / MEMBER} is damaged\nhelp: bring it back, or remove {folder}") from None


def _begin_of(host: Path, stream: str, otherwise: int) -> int:
    """Where a host has begun, perhaps for members that have left."""
    try:
        return int(json.loads((host / STARTS).read_text())["starts"][stream][0])
    except FileNotFoundError:
        return otherwise
    except (ValueError, KeyError):
        raise RunError(f"{host / STARTS} is damaged\nhelp: bring it back, or remove {host}") from None
