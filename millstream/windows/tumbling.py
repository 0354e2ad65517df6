"""Tumbling time windows: sliding ones that neither overlap nor leave gaps."""

from __future__ import annotations

from millstream.windows.sliding import Sliding


def tumbling(size: int, origin: int = 0) -> Sliding:
    """Window w is [origin + w * size, origin + (w + 1) * size).

    >>> tumbling(10, origin=3).bounds(-1)
    (-7, 3)
    """
    return Sliding(range=size, slide=size, origin=origin)
