"""Punctuation: what a stream promises about the tuples that are still to come [Li 2008, chapter 4]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Punctuation:
    """No more tuples with a time stamp before `time`.

    `final`: no more tuples at all, of those known so far; `time` is then the newest time stamp of the whole stream.
    `group`: the promise holds only for tuples with these values of key columns; for all if empty.
    `oldest`: the oldest time stamp that the whole stream has shown so far, if anyone asked for it.
    `port`: the input of the operator that the promise is about.
    """

    time: int
    final: bool = False
    group: tuple[tuple[str, Any], ...] = ()
    oldest: int | None = None
    port: int = 0
