"""The words of the control stream."""

from __future__ import annotations

import json

END = "end"
TICK = "tick"
WAIT = "wait"
"""Says nothing: it stands for a batch, before the one that ends the stream."""

MAX_AGE = "1h"
"""How much older than the newest mark another one may be, for Spark to look at it.

It keeps the names of all marks of that time in memory. None is older than one before it, whatever the clock says.
"""


def enabling_mark(stream: str, time: int) -> str:
    """An enabling time stamp: the mark that says that a silent stream has come to a time, in microseconds.

    >>> read_enabling(enabling_mark("s", 5))
    ('s', 5)
    """
    return json.dumps([stream, time])


def read_enabling(word: str) -> tuple[str, int]:
    """The stream and the time of an enabling time stamp."""
    stream, time = json.loads(word)
    return str(stream), int(time)
