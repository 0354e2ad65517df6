"""The history of a stream in words, for SHOW STREAMS and DESCRIBE."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.catalog.definitions import Stream
from millstream.catalog.far_times import moment_text
from millstream.catalog.keep import size_text
from millstream.history.index import Index


def history_text(stream: Stream, index: Index, held: Mapping[str, int]) -> str:
    """How much is kept of a stream, from when to when, and which query holds back what need not be kept."""
    if stream.keep is None:
        return ""
    tuples, rejected, size, oldest, newest = index.totals()
    parts = [f"{tuples:,} row{'' if tuples == 1 else 's'}"]
    if rejected:
        parts.append(f"{rejected:,} rejected")
    parts.append(size_text(size))
    if oldest is not None and newest is not None:
        parts.append(f"from {moment_text(oldest)} to {moment_text(newest)}")
    extent = index.extent
    if (behind := {name: position for name, position in held.items() if position < extent.end}) and extent.end:
        slowest = min(behind, key=lambda name: behind[name])
        parts.append(f"query {slowest} still has to read {extent.end - behind[slowest]:,}")
    return f"{stream.keep}: {', '.join(parts)}"
