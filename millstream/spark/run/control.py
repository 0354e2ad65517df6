"""The control stream: marks that reach a query like data, exactly once.

It is a followed folder: an idle query lists it and runs no batch. A source written in Python would do the same, but
starts three Python processes per query.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path

from millstream.connectors.files.source_log import forget_gone
from millstream.spark.stage.control_words import END, WAIT

LOG = logging.getLogger(__name__)

NEWEST = ".newest"
"""The file that names the moment of the newest mark."""

_sending = threading.Lock()


def signal(folder: Path, word: str) -> None:
    """Send a mark: END ends the stream, as far as it is known; TICK says that the wall clock has moved on.

    The others are enabling time stamps.
    """
    with _sending:
        _send(folder, word, _moment(folder))
    try:
        forget_gone(folder.with_name("checkpoint"), folder)
    except OSError as problem:
        LOG.warning("the list of the marks that were read could not be made shorter, and will be: %s", problem)


def end_after(folder: Path, batches: int) -> None:
    """Send the marks of a query that reads them one by one, so that its stream ends with the last of the batches."""
    with _sending:
        now = _moment(folder, batches * _APART)
        for number in range(batches):
            left = batches - 1 - number
            _send(folder, WAIT if left else END, now - left * _APART)


def forget_unread(folder: Path, checkpoint: Path) -> None:
    """Remove the marks that a run left behind and that no batch was planned with: what they said is over."""
    if not (marks := list(folder.glob("*.mark"))):
        return
    newest: dict[Path, Path] = {}
    for log in sorted((checkpoint / "sources").glob("*/[0-9]*"), key=lambda log: int(log.stem)):
        newest[log.parent] = log
    planned = "".join(log.read_text() for log in newest.values())
    for mark in marks:
        if mark.name not in planned:
            mark.unlink()


_APART = 1_000_000
"""Spark takes the oldest files first, and tells ages apart by milliseconds."""


def _moment(folder: Path, after: int = 1) -> int:
    """Now, or the first moment so long after the newest mark, if the clock was put back."""
    try:
        newest = int((folder / NEWEST).read_text())
    except (FileNotFoundError, ValueError):  # none yet; or the machine went down while it was written
        newest = 0
    return max(time.time_ns(), newest + after)


def _send(folder: Path, word: str, moment: int) -> None:
    name = f"{moment:020d}"  # never used again: Spark remembers the names it has read
    (folder / NEWEST).write_text(name)
    hidden = folder / f".{name}"
    hidden.write_text(f"{word}\n")
    os.utime(hidden, ns=(moment, moment))
    hidden.rename(folder / f"{name}.mark")
