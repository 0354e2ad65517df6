"""Paths of sources and sinks: relative to the script, on this machine or on any file system that Spark knows."""

from __future__ import annotations

import glob
import re
from pathlib import Path

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def absolute(base: Path, place: str) -> str:
    """The place that an address means when it is written in a script that stands in `base`.

    >>> absolute(Path("/scripts"), "data/*.csv"), absolute(Path("/scripts"), "s3a://bucket/x")
    ('/scripts/data/*.csv', 's3a://bucket/x')
    """
    return place if _URI.match(place) else str((base / Path(place).expanduser()).absolute())


def is_local(path: str) -> bool:
    """Whether a path is on this machine's own file system."""
    return not _URI.match(path) or path.startswith("file:/")


def is_glob(path: str) -> bool:
    """Whether a path stands for many files."""
    return any(c in path for c in "*?[{")


def places(path: str) -> list[Path]:
    """The files and folders that a local path stands for now, or some more."""
    path = re.sub(r"^file:/+", "/", path)
    return [Path(p) for p in glob.glob(_braces_as_stars(path))] if is_glob(path) else [Path(path)]  # noqa: PTH207


def local_files(path: str) -> list[Path]:
    """The data files that a local path stands for now, the oldest name first; hidden ones do not count."""
    files = [f for p in sorted(places(path)) for f in (sorted(p.iterdir()) if p.is_dir() else [p])]
    return [f for f in files if f.is_file() and not f.name.startswith((".", "_"))]


def _braces_as_stars(path: str) -> str:
    # Hadoop's globs know {a,b}, Python's do not; too many matches do no harm where this is used.
    return re.sub(r"\{[^}]*\}", "*", path)
