"""Bad files: which error a file that cannot be read gives, and its message."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

import pyarrow as pa

from millstream.errors import RunError

BAD = "__bad"
"""What is wrong with a file, in the one row that stands for all of it; NULL for others."""

AT_ONCE = 64 << 20
"""The most bytes of a file that are kept until it is known that all of it can be read. What is larger is read twice."""

WAY_OUT = "repair or replace the file and start the query again; for a stream, ON BAD FILE REJECT passes over it"

_OF_THE_FILE = (None, errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR)
"""What the system says of one file. Anything else is about a disk, or about us: another file would fare no better."""


class BadFile(Exception):
    """What is wrong with a file."""


@contextlib.contextmanager
def finding_damage() -> Iterator[None]:
    r"""Raise what Arrow and the system say of a file as what is wrong with it.

    >>> with finding_damage():
    ...     raise pa.ArrowInvalid("no\nfooter")
    Traceback (most recent call last):
    ...
    millstream.connectors.places.bad_files.BadFile: it is damaged: no footer
    """
    try:
        yield
    except (pa.ArrowException, OSError) as problem:
        if isinstance(problem, MemoryError | pa.ArrowCancelled):
            raise
        number = getattr(problem, "errno", None)
        if number not in _OF_THE_FILE:
            raise
        if number == errno.ENOENT:
            raise BadFile("it is gone") from None
        said = " ".join(str(problem).split())
        raise BadFile(f"it cannot be opened: {said}" if number else f"it is damaged: {said}") from None


@contextlib.contextmanager
def stop_at_bad_file(place: str) -> Iterator[None]:
    """Let a bad file stop its query."""
    try:
        yield
    except BadFile as problem:
        raise RunError(f"{place}: {problem}\nhelp: {WAY_OUT}") from None
