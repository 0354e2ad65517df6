"""A running query: its counts, its results, and how to stop it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self

import pandas as pd
import pyarrow as pa

from millstream.catalog.definitions import Query
from millstream.connectors.sinks import QueryPlace
from millstream.errors import RunError
from millstream.mill.results import Results
from millstream.mill.values import frame
from millstream.spark.process.failures import LAST_BREATH_SECONDS, SPARK_ERRORS, explain_failure
from millstream.spark.process.jvm import is_lost, talking
from millstream.spark.run.bounded_run import Handle, last_of
from millstream.spark.run.progress import Counts
from millstream.spark.stage.local_copy import forget_copies

LAST_WORD_SECONDS = 10.0
"""How long to wait for Spark's events on a query that has ended: they come a moment later."""


class RunningQuery:
    """A persistent query. As a context manager it stops at the end of the block."""

    def __init__(
        self, query: Query, handle: Handle, counts: Counts, results: Results | None, place: QueryPlace
    ) -> None:
        self.definition = query
        self._place = place
        self.counts = counts
        self._handle = handle
        self._results = results
        self._lost: str | None = None

    @property
    def name(self) -> str:
        """Its name in SHOW QUERIES."""
        return self.definition.name

    @property
    def is_active(self) -> bool:
        """Whether it still runs."""
        try:
            return bool(self._handle.isActive)
        except SPARK_ERRORS:
            if is_lost(LAST_BREATH_SECONDS):
                return False
            raise

    @property
    def failure(self) -> str | None:
        """Why it ended, if it failed."""
        if self._lost is not None:
            return self._lost
        try:
            problem = self._handle.exception()
        except SPARK_ERRORS as lost:
            problem = lost
        return explain_failure(problem) if problem else None

    @property
    def state(self) -> str:
        """In one word: running, failed or ended."""
        return "running" if self.is_active else "failed" if self.failure else "ended"

    @property
    def came_to_nothing(self) -> bool:
        """Whether it has failed before its first batch was complete."""
        return not self.counts.batches and not self._place.has_batches and self.state == "failed"

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has ended; False if it has not in `timeout` seconds. A failure is raised."""
        try:
            with talking():
                ended = self._handle.awaitTermination() if timeout is None else self._handle.awaitTermination(timeout)
        except SPARK_ERRORS as problem:
            self._finish()
            raise RunError(f"query {self.name} failed: {explain_failure(problem)}") from problem
        if ended is False:
            return False
        self._finish()
        if self._lost is not None:
            raise RunError(f"query {self.name} failed: {self._lost}")
        return True

    def process_available(self) -> None:
        """Wait until everything that its sources hold now has been processed."""
        try:
            with talking():
                self._handle.processAllAvailable()
        except SPARK_ERRORS as problem:
            raise RunError(f"query {self.name} failed: {explain_failure(problem)}") from problem

    def stop(self) -> None:
        """Stop it; what it has read so far stays counted in its checkpoint."""
        try:
            with talking():
                self._handle.stop()
        except SPARK_ERRORS as problem:
            raise RunError(f"query {self.name} did not stop: {explain_failure(problem)}") from problem
        finally:
            self.counts.let_go()
            self._finish()

    def give_up(self, reason: str) -> None:
        """Stop it as failed, for a reason that Spark does not know of."""
        self._lost = reason
        self.stop()

    def disown(self, written: Mapping[str, set[str]]) -> None:
        """What it has written to folders is nobody's any more: a new query that overwrites may remove it."""
        for marks in written.values():
            marks -= {mark for mark in marks if mark.startswith(self._place.id)}

    def to_arrow(self) -> pa.Table:
        """The result rows kept so far."""
        return self._kept().table()

    def to_pandas(self) -> pd.DataFrame:
        """The result rows kept so far."""
        return frame(self.to_arrow())

    def subscribe(self, timeout: float | None = None) -> Iterator[pa.Table]:
        """The kept batches and then new ones as they come; ends with the query, or after `timeout` idle seconds."""
        return self._kept().subscribe(timeout)

    @property
    def dropped(self) -> int:
        """How many result rows were let go because more came than SET results_kept allows."""
        return self._results.dropped if self._results else 0

    def _kept(self) -> Results:
        if self._results is None:
            raise RunError(
                f"query {self.name} feeds {' and '.join(self.definition.sinks)} and keeps no rows\n"
                "help: read the sink, or use CREATE QUERY name AS SELECT ..."
            )
        return self._results

    def _finish(self) -> None:
        self.counts.end()
        forget_copies(self._place.id)
        try:
            self.counts.finish(last_of(self._handle), LAST_WORD_SECONDS)
        except SPARK_ERRORS:
            if not is_lost(LAST_BREATH_SECONDS):  # what it did last is then known to nobody
                raise
        finally:
            if self._results:
                self._results.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(RunError):
            self.stop()

    def __repr__(self) -> str:
        return f"<query {self.name}: {self.state}, {self.counts.rows_in} rows in, {self.counts.rows_out} rows out>"
