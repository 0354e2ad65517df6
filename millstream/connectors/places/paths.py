"""Paths of sources and sinks: relative to the script, on this machine or on any file system of Spark.

A local path that exists is that path, whatever characters are in it. Only a part of which nothing has that very name,
and what follows it, can be a pattern.
"""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path

from millstream.connectors.places.aliases import with_signs

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_WILD = re.compile(r"[*?\[{]")
GLOB = re.compile(r"([\\*?\[\]{}])")
"""What means something in Hadoop's patterns."""


def absolute(base: Path, place: str) -> str:
    """The place that an address means when it is written in a script that stands in `base`.

    >>> absolute(Path("/scripts"), "data/*.csv"), absolute(Path("/scripts"), "s3a://bucket/x")
    ('/scripts/data/*.csv', 's3a://bucket/x')
    """
    if _URI.match(place):
        return place
    path = base / place
    return str((path if os.path.lexists(path) else base / os.path.expanduser(place)).absolute())  # noqa: PTH111


def is_local(path: str) -> bool:
    """Whether a path is on this machine's own file system."""
    return not _URI.match(path) or path.startswith("file:/")


def strip_scheme(path: str) -> str:
    """A local path without the scheme of its address.

    >>> strip_scheme("file:///tmp/a%20b"), strip_scheme("/tmp/a")
    ('/tmp/a%20b', '/tmp/a')
    """
    return re.sub(r"^file:/+", "/", path)


def place_of(path: str) -> str:
    """Where a file on this machine is, of which Spark has told the path: as it stands there, without escapes.

    >>> place_of("file:/tmp/a%20b")
    '/tmp/a%20b'
    """
    return with_signs(path.removeprefix("file:"))


def is_pattern(path: str) -> bool:
    """Whether a path stands for all that match it.

    >>> is_pattern("/no/such/*.csv"), is_pattern("/no/such/a.csv"), is_pattern("s3a://bucket/*.csv")
    (True, False, True)
    """
    return bool(_WILD.search(split_existing(path)[1]))


def is_parted(path: str) -> bool:
    """Whether values stand in the names of folders, as in `day=7/part.parquet`."""
    return "=" in path or (not is_pattern(path) and any(p.is_dir() for p in Path(strip_scheme(path)).rglob("*=*")))


def escape_pattern(path: str) -> str:
    r"""A path as Spark takes it for what it is: the characters of patterns are escaped where they stand in names.

    >>> escape_pattern("/no/such/{a,b}.csv")
    '/no/such/{a,b}.csv'
    """
    there, rest = split_existing(path)
    return GLOB.sub(r"\\\1", there) + rest


def places(path: str) -> list[Path]:
    """The files and folders that a local path stands for now, or some more."""
    there, rest = split_existing(path)
    if not _WILD.search(rest):
        return [Path(there + rest)]
    return [Path(p) for p in glob.glob(glob.escape(there) + _braces_as_stars(rest))]  # noqa: PTH207


def local_files(path: str) -> list[Path]:
    """The data files that a local path stands for now, the oldest name first; hidden ones do not count."""
    files = [f for p in sorted(places(path)) for f in (sorted(p.iterdir()) if p.is_dir() else [p])]
    return [f for f in files if f.is_file() and not f.name.startswith((".", "_"))]


def split_existing(path: str) -> tuple[str, str]:
    """The part of a path that exists as it is written, and the rest; of other file systems nothing is known."""
    if not is_local(path):
        return "", path
    whole = strip_scheme(path)
    there = whole
    while not os.path.lexists(there) and there not in ("", "/"):
        there = os.path.dirname(there)  # noqa: PTH120  (a Path would drop what makes the parts add up)
    return there, whole[len(there) :]


def _braces_as_stars(path: str) -> str:
    # Hadoop's globs know {a,b}, Python's do not; too many matches do no harm where this is used.
    return re.sub(r"\{[^}]*\}", "*", path)


def leads_to(path: Path, file: int) -> bool:
    """Whether a path still leads to an open file, given by its number, or to an open folder."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except OSError:
        return False
