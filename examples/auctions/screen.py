"""What the demo shows: a live table on a terminal, plain lines elsewhere, and the closing summary."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from millstream import Mill, RunningQuery

LINES_KEPT = 3
PLAIN_SECONDS = 2.0


class Screen:
    """Collects the rows of the queries and shows the newest."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)
        self._queries: Callable[[], tuple[RunningQuery, ...]] = tuple
        self._alerts = Path()
        self._newest: dict[str, deque[str]] = {}
        self._lock = threading.Lock()
        self._live: Live | None = None
        self._started = time.monotonic()
        self._told = self._started

    def say(self, line: str) -> None:
        """A line that stays."""
        elapsed = f"{time.monotonic() - self._started:5.1f} s  "
        self.console.print(Text.assemble((elapsed, "dim"), line), soft_wrap=True)

    def rows(self, query: str, table: pa.Table) -> None:
        """Remember the newest rows of a query."""
        with self._lock:
            newest = self._newest.setdefault(query, deque(maxlen=LINES_KEPT))
            for row in table.slice(max(0, table.num_rows - LINES_KEPT)).to_pylist():
                newest.append("  ".join(_shown(value) for value in row.values()))

    def watch(self, mill: Mill, alerts: Path) -> Self:
        """Show the queries of a mill, one of which writes files to the folder `alerts`."""
        self._queries = lambda: mill.queries
        self._alerts = alerts
        return self

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live = Live(console=self.console, refresh_per_second=8, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def update(self, sent: int) -> None:
        """Show where things stand."""
        self._look_at_files()
        if self._live:
            self._live.update(self._view(sent))
        elif time.monotonic() - self._told >= PLAIN_SECONDS:
            self._told = time.monotonic()
            self._plain(sent)

    def _look_at_files(self) -> None:
        files = sorted(self._alerts.glob("*.json"), key=lambda f: f.stat().st_mtime)
        lines = files[-1].read_text().splitlines() if files else []
        if lines:
            with self._lock:
                shown = ("  ".join(_shown(v) for v in json.loads(line).values()) for line in lines[-LINES_KEPT:])
                self._newest["alerts"] = deque(shown, maxlen=LINES_KEPT)

    def _view(self, sent: int) -> Group:
        table = Table(title=f"{sent:,} rows sent", title_justify="left", expand=True)
        table.add_column("query", style="bold")
        for name in ("rows in", "rows out", "rejected"):
            table.add_column(name, justify="right")
        table.add_column("newest results", ratio=1, no_wrap=True, overflow="ellipsis")
        with self._lock:
            for query in self._queries():
                counts = query.counts
                newest = "\n".join(self._newest.get(query.name, ["..."]))
                rejected = sum(counts.rejected.values())
                table.add_row(query.name, f"{counts.rows_in:,}", f"{counts.rows_out:,}", f"{rejected:,}", newest)
        return Group(table, Text("Ctrl-C stops", style="dim"))

    def _plain(self, sent: int) -> None:
        self.say(f"{sent:,} rows sent")
        with self._lock:
            for query in self._queries():
                newest = self._newest.get(query.name)
                counts = f"{query.counts.rows_in:,} in, {query.counts.rows_out:,} out"
                self.console.print(
                    f"           {query.name:9} {counts:22} {newest[-1] if newest else '...'}",
                    markup=False,
                    soft_wrap=True,
                )


def summary(queries: tuple[RunningQuery, ...]) -> Table:
    """What each query did."""
    table = Table(title="summary", title_justify="left")
    table.add_column("query", style="bold")
    for name in ("rows in", "rows out", "rejected", "batches", "rows/s"):
        table.add_column(name, justify="right")
    for query in queries:
        counts = query.counts
        numbers = (
            counts.rows_in,
            counts.rows_out,
            sum(counts.rejected.values()),
            counts.batches,
            counts.rows_per_second,
        )
        table.add_row(query.name, *(f"{n:,.0f}" for n in numbers))
    return table


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return str(value).removesuffix("+00:00")
