"""The closing summary of a run, query by query."""

from __future__ import annotations

import json
import sys

from rich.console import Console
from rich.table import Table

from millstream.catalog.definitions import Stream
from millstream.catalog.far_times import moment_text
from millstream.mill import Mill


def summarize(mill: Mill, seconds: float, *, as_json: bool) -> None:
    """Write the closing summary to standard error."""
    rows = [
        {
            "query": q.name,
            "state": q.state,
            "rows_in": q.counts.rows_in,
            "rows_out": q.counts.rows_out,
            "rejected": sum(q.counts.rejected.values()),
            "late": sum(q.counts.late.values()),
            "batches": q.counts.batches,
            "rows_per_s": round(q.counts.rows_per_second),
        }
        for q in mill.queries
    ]
    if as_json:
        print(json.dumps({"seconds": round(seconds, 2), "queries": rows}), file=sys.stderr)
        return
    console = Console(stderr=True, highlight=False)
    if rows and console.is_terminal:
        table = Table(title=f"{seconds:.1f} s", title_justify="left", box=None, pad_edge=False)
        for name in rows[0]:
            table.add_column(name.replace("_", " "), justify="left" if name in {"query", "state"} else "right")
        for row in rows:
            table.add_row(*[f"{v:,}" if isinstance(v, int) else str(v) for v in row.values()])
        console.print(table)
    else:
        for row in rows:
            told = {k: v for k, v in row.items() if k not in {"query", "state"} and (k != "late" or v)}
            words = ", ".join(f"{v} {k.replace('_', ' ')}" for k, v in told.items())
            print(f"{row['query']}: {row['state']}, {words}", file=sys.stderr)
    beyond = _most(mill, "beyond")
    for stream, count in _most(mill, "rejected").items():
        if broken := count - beyond.get(stream, 0):
            print(f"{stream}: {_rows(broken)} did not parse; see {stream}.REJECTED", file=sys.stderr)
    for stream, count in beyond.items():
        what = "a time stamp" if count == 1 else "time stamps"
        print(f"{stream}: {_rows(count)} with {what} out of bounds; see {stream}.REJECTED", file=sys.stderr)
    for stream, count in _most(mill, "late").items():
        print(f"{stream}: {_rows(count)} came too late; see {stream}.LATE", file=sys.stderr)
        if leap := _furthest(mill, stream):
            print(f"{stream}: {leap}", file=sys.stderr)


def _most(mill: Mill, what: str) -> dict[str, int]:
    """For each stream the highest count of its queries: each of them reads the whole stream."""
    most: dict[str, int] = {}
    for query in mill.queries:
        for stream, count in getattr(query.counts, what).items():
            most[stream] = max(most.get(stream, 0), count)
    return {stream: count for stream, count in most.items() if count}


def _furthest(mill: Mill, stream: str) -> str:
    """The time stamp that moved a stream most, and how to find its row."""
    leaps = [q.counts.leaps[stream] for q in mill.queries if stream in q.counts.leaps]
    if not leaps:
        return ""
    most = max(leaps, key=lambda leap: (leap.by is not None, leap.by or leap.to))
    by = "" if most.by is None else f", by {_length(most.by)}"
    moment = moment_text(most.to)
    return f"its time was moved most by the row of {moment}{by}: that WHERE {_time(mill, stream)} = '{moment}'"


def _time(mill: Mill, stream: str) -> str:
    found = mill.catalog.relation(stream)
    return found.time if isinstance(found, Stream) and found.time else "its time stamp"


def _length(micros: int) -> str:
    """A length of time as people say it.

    >>> _length(3_000_000), _length(26 * 3600 * 10**6), _length(400 * 86_400 * 10**6)
    ('3 seconds', '26 hours', '400 days')
    """
    for seconds, word in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if micros >= 2 * seconds * 1_000_000:
            return f"{micros // (seconds * 1_000_000):,} {word}"
    return f"{micros / 1_000_000:g} seconds"


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"
