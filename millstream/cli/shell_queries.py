"""The running queries of a shell: followed until they end, and told of when they fail."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from millstream.errors import MillstreamError

if TYPE_CHECKING:
    from millstream.cli.interruptible_work import InterruptibleWork
    from millstream.cli.shell_output import ShellOutput
    from millstream.mill import Mill, RunningQuery


class ShellQueries:
    """Waits for queries, as long as the user does not want to stop, and tells how they end."""

    def __init__(self, mill: Mill, output: ShellOutput, work: InterruptibleWork) -> None:
        self._mill, self._output, self._work = mill, output, work
        self._told: set[RunningQuery] = set()

    def follow(self, query: RunningQuery) -> None:
        """Stay with a query whose rows are shown as they come, until it ends or the user stops it."""
        if not self._mill.once:
            self._output.say(f"{query.name} runs; Ctrl-C stops it")
        self._wait(query)
        if stopped := query.is_active:
            self._output.say(f"stopping {query.name} ...")
            query.stop()
        else:
            _let_end(query)
        # The Ctrl-C was for this query; what comes after it in a script goes on.
        self._work.forget_interrupts()
        failure = None if stopped else query.failure
        if failure:
            self._tell_failure(query, failure)
        else:
            self._output.say(closing_line(query, "stopped" if stopped else "ended"))
        self._mill.forget(query)

    def wait_for_all(self) -> None:
        """Wait until all queries have ended, or the user stops."""
        self._mill.begin_templates()
        running = self.running
        if running and not self._mill.once:
            self._output.say(f"{number_of(len(running), 'query', 'queries')} running; Ctrl-C stops")
        for query in running:
            self._wait(query)
            if not query.is_active:
                _let_end(query)
                if not query.failure:
                    self._output.say(closing_line(query, "ended"))
        self.tell_failures()

    def tell_failures(self) -> None:
        """Tell of the queries that have failed, once of each."""
        for query in self._mill.queries:
            if query not in self._told and not query.is_active and (failure := query.failure):
                self._tell_failure(query, failure)

    @property
    def running(self) -> list[RunningQuery]:
        """Those that run."""
        return [query for query in self._mill.queries if query.is_active]

    def _wait(self, query: RunningQuery) -> None:
        while query.is_active and not self._work.stopping.wait(0.1):
            pass

    def _tell_failure(self, query: RunningQuery, failure: str) -> None:
        self._told.add(query)
        self._output.complain(
            f"error: query {query.name} failed: {failure}\nhelp: Spark's own log is {self._mill.home.spark_log}"
        )


def _let_end(query: RunningQuery) -> None:
    """Let a query that has ended count what it did last; how it failed, it says itself."""
    with contextlib.suppress(MillstreamError):
        query.wait(timeout=10)


def closing_line(query: RunningQuery, word: str = "stopped") -> str:
    """What a query did, in a line."""
    counts = query.counts
    rejected = {stream: count for stream, count in counts.rejected.items() if count}
    line = (
        f"{query.name} {word}: {number_of(counts.rows_in, 'row')} in, "
        f"{number_of(counts.rows_out, 'row')} out, {sum(rejected.values()):,} rejected"
    )
    line += f" (see {', '.join(f'{s}.REJECTED' for s in rejected)})" if rejected else ""
    late = {stream: count for stream, count in counts.late.items() if count}
    seen = ", ".join(f"{stream}.LATE" for stream in late)
    return line + (f", {sum(late.values()):,} late (see {seen})" if late else "")


def number_of(number: int, one: str, many: str = "") -> str:
    """A number of things.

    >>> number_of(1, "row"), number_of(2000, "query", "queries")
    ('1 row', '2,000 queries')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
