"""Marks as they stand among the rows of a stream that was put down: what is not expected any more.

Punctuation in the data becomes the same.
"""

from __future__ import annotations

import json

MARK = "__mark"
"""The column of marks; it is NULL in rows."""


def promise_mark(time: int) -> str:
    """A mark that says: no tuple stamped before that time will come."""
    return json.dumps({"time": time, "columns": []})


def promise_of(mark: str) -> int:
    """The time that a mark promises.

    >>> promise_of(promise_mark(5))
    5
    """
    return int(json.loads(mark)["time"])
