"""What state depends on, as plain data that JSON can hold: two structures are equal if and only if they mean the same.

Whatever enters the state of a query (windows, aggregates, expressions, sources) says what it is as a structure, and
never by a text that is made for readers.
"""

from __future__ import annotations

from typing import Any

Structure = str | int | float | bool | None | tuple["Structure", ...]
"""A word, a number, a truth, nothing, or several structures in order."""


def from_json(value: Any) -> Structure:
    """The structure that JSON has made lists of.

    >>> from_json(["sliding", [60, 20], None])
    ('sliding', (60, 20), None)
    """
    return tuple(from_json(part) for part in value) if isinstance(value, list) else value
