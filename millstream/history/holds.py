"""Which positions of a log queries still have to read: those behind their last committed batch, running or not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from millstream.errors import RunError

STARTS = "starts.json"


def held(folders: Iterator[Path], stream: str) -> dict[str, int]:
    """The position from which each query, by the name of its folder, goes on reading a stream."""
    found = {}
    for folder in folders:
        if (position := _next(folder, stream.lower())) is not None:
            found[folder.name] = position
    return found


def _next(folder: Path, stream: str) -> int | None:
    """Where the next batch of a query begins in the log of a stream; None if the query does not read it."""
    try:
        starts = json.loads((folder / STARTS).read_text())["starts"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError):
        raise RunError(f"{folder / STARTS} is damaged\nhelp: bring it back, or remove {folder}") from None
    if stream not in starts:
        return None
    checkpoint = folder / "checkpoint"
    done = max((int(file.name) for file in (checkpoint / "commits").glob("[0-9]*")), default=-1)
    try:
        lines = (checkpoint / "offsets" / str(done)).read_text().split("\n") if done >= 0 else []
    except FileNotFoundError:  # a later batch has ended meanwhile
        lines = []
    offsets = [json.loads(line) for line in lines if line.startswith('{"position"') or '"stream"' in line]
    ends = [int(offset["position"]) for offset in offsets if offset.get("stream") == stream]
    return min(ends, default=int(starts[stream][0]))
