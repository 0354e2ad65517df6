"""The progress of a run: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from millstream.catalog.far_times import moment_text
from millstream.mill import Mill, RunningQuery

PLAIN_LINE_SECONDS = 5.0


class Progress:
    """Rows, rows per second and batches of all queries together, on standard error."""

    def __init__(self, *, quiet: bool) -> None:
        self._queries: Callable[[], tuple[RunningQuery, ...]] = tuple
        self._quiet = quiet
        # Where rows and progress meet on one terminal, one console keeps them from overwriting each other.
        self.console = Console(stderr=not sys.stdout.isatty(), highlight=False)
        self._bars: Bars | None = None
        self._started = time.monotonic()
        self._told = self._started

    def of(self, mill: Mill) -> Self:
        """Show the progress of this mill's queries."""
        self._queries = lambda: mill.queries
        return self

    def __enter__(self) -> Self:
        if not self._quiet and self.console.is_terminal:
            self._bars = Bars(
                SpinnerColumn(),
                BarColumn(bar_width=24),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                console=self.console,
                transient=True,
            )
            self._bars.add_task("starting Spark", total=None)
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars:
            self._bars.stop()

    def say(self, message: str) -> None:
        """A line that stays."""
        if self._quiet:
            return
        if self._bars:
            self._bars.console.print(message, style="dim")
        else:
            print(message, file=sys.stderr)

    def complain(self, message: str) -> None:
        """A line that stays, and must be seen."""
        if self._bars:
            self._bars.console.print(message, style="red", markup=False, soft_wrap=True)
        else:
            print(message, file=sys.stderr, flush=True)

    def update(self) -> None:
        """Show where things stand now."""
        if self._quiet:
            return
        if self._bars:
            self._bars.update(self._bars.task_ids[0], description=self._line())
        elif time.monotonic() - self._told >= PLAIN_LINE_SECONDS:
            self._told = time.monotonic()
            print(f"{self._told - self._started:.0f} s: {self._line()}", file=sys.stderr)

    def _line(self) -> str:
        queries = self._queries()
        rows = sum(q.counts.rows_in for q in queries)
        batches = sum(q.counts.batches for q in queries)
        running = sum(q.is_active for q in queries)
        elapsed = time.monotonic() - self._started
        lost = {word: sum(sum(getattr(q.counts, word).values()) for q in queries) for word in ("rejected", "late")}
        told = "".join(f"{count:,} {word}, " for word, count in lost.items() if count)
        if lost["late"]:
            leaps = {s: leap for q in queries for s, leap in q.counts.leaps.items() if q.counts.late.get(s)}
            told += "".join(f"{s} moved most by {moment_text(leap.to)}, " for s, leap in leaps.items())
        return f"{rows:,} rows, {rows / elapsed:,.0f} rows/s, {batches:,} batches, {told}{running} running"
