"""Chooses pieces of a log for compaction: many small ones, so that a log of any age is a few files.

Sixteen neighbours of about one size become one piece of the next size, and so on: each row is written anew only as
often as there are sizes.
"""

from __future__ import annotations

from collections.abc import Sequence

from millstream.history.index import Piece
from millstream.history.segments import SEGMENT_ROWS

FAN = 16
"""So many neighbours become one."""


def pieces_to_join(pieces: Sequence[Piece]) -> list[Piece]:
    """Neighbours that are worth to be put together, the smallest first; none if there are no such."""
    for most in (FAN, FAN**2, FAN**3, FAN**4):
        run: list[Piece] = []
        rows = 0
        for piece in [*pieces, None]:
            if piece is not None and piece.rows <= most and rows + piece.rows <= SEGMENT_ROWS:
                run.append(piece)
                rows += piece.rows
                continue
            if len(run) >= FAN:
                return run
            fits = piece is not None and piece.rows <= most
            run, rows = ([piece], piece.rows) if fits and piece is not None else ([], 0)
    return []
