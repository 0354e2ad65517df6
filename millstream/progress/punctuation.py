"""Punctuation: what a stream promises about the tuples that are still to come (thesis, chapter 4)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Punctuation:
    """No more tuples with a time stamp before `time`; `final`: no more tuples at all, of those known so far.

    >>> Punctuation(5) < Punctuation(7)
    True
    """

    time: int
    final: bool = False
