"""The position up to which a log can be trimmed: past the KEEP of its stream, and read by all queries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from millstream.catalog.keep import Keep
from millstream.history.index import Piece

GRACE = 60_000_000
"""Nothing is trimmed that landed in these last microseconds: who creates a stream and queries over it can do both."""

_MICROSECOND = timedelta(microseconds=1)
_NEVER = -(1 << 63)


def trim_position(pieces: Sequence[Piece], keep: Keep, slack: timedelta, now: int, timed: bool) -> int | None:
    """The position before which nothing need be kept; None if all must be.

    Of a stream that is `timed`, a length is one of event time, and reaches back from its low-watermark. Of others it is
    counted by the clock, from when rows landed. Only whole pieces go, and only from the beginning on.
    """
    if not pieces or (keep.length is None and keep.size is None):
        return None
    size = sum(piece.bytes for piece in pieces)
    newest = pieces[-1].so_far
    found = None
    for piece in pieces:
        if keep.length is not None:
            length = keep.length // _MICROSECOND
            if timed:
                last = _NEVER if piece.newest is None else piece.newest
                covered = newest is not None and last < newest - slack // _MICROSECOND - length
            else:
                covered = piece.landed < now - length
        else:
            covered = size > (keep.size or 0)
        if not covered or piece.landed > now - GRACE:
            break
        size -= piece.bytes
        found = piece.end
    return found
