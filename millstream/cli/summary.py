"""What a run did, query by query."""

from __future__ import annotations

import json
import sys

from rich.console import Console
from rich.table import Table

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
            **({"late": sum(q.counts.late.values())} if as_json else {}),
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
            words = ", ".join(f"{v} {k.replace('_', ' ')}" for k, v in row.items() if k not in {"query", "state"})
            print(f"{row['query']}: {row['state']}, {words}", file=sys.stderr)
    for stream, count in _most(mill, "rejected").items():
        print(f"{stream}: {_rows(count)} did not parse; see {stream}.REJECTED", file=sys.stderr)
    for stream, count in _most(mill, "late").items():
        print(f"{stream}: {_rows(count)} came too late; see {stream}.LATE", file=sys.stderr)


def _most(mill: Mill, what: str) -> dict[str, int]:
    """For each stream the highest count of its queries: each of them reads the whole stream."""
    most: dict[str, int] = {}
    for query in mill.queries:
        for stream, count in getattr(query.counts, what).items():
            most[stream] = max(most.get(stream, 0), count)
    return {stream: count for stream, count in most.items() if count}


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"
