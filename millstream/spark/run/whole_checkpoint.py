"""Looks at the checkpoint of a query before Spark does, which would not say which file is damaged."""

from __future__ import annotations

import json
from pathlib import Path

from millstream.errors import RunError


def check_whole(folder: Path, anew: str = "") -> None:
    """Refuse a folder with a checkpoint whose newest entries are damaged, or of which some are gone.

    `anew` says what to do to begin anew.
    """
    out = f"bring it back, or {anew or f'remove {folder} to begin anew'}"
    planned, done = (_newest(folder / "checkpoint" / kind) for kind in ("offsets", "commits"))
    if done is not None and (planned is None or int(planned.name) < int(done.name)):
        gone = folder / "checkpoint" / "offsets" / done.name
        raise RunError(f"{gone} is gone\nhelp: {out}")
    for file in (planned, done):
        if file is not None and not _is_whole(file):
            raise RunError(f"{file} is damaged\nhelp: {out}")


def _newest(folder: Path) -> Path | None:
    files = (file for file in folder.glob("[0-9]*") if file.name.isdigit())
    return max(files, key=lambda file: int(file.name), default=None)


def _is_whole(file: Path) -> bool:
    """Whether it is as Spark writes it: the version of the format, then a line of JSON or a dash for each thing."""
    try:
        version, *lines = file.read_text(encoding="utf-8").split("\n")
        for line in lines:
            if line not in {"", "-"}:
                json.loads(line)
    except FileNotFoundError:  # Spark has removed it meanwhile
        return True
    except ValueError:
        return False
    return version.startswith("v") and bool(lines)
