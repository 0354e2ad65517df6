"""A running query: its counts, its results, and how to stop it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

import pandas as pd
import pyarrow as pa

from millstream.catalog.definitions import Query
from millstream.connectors.sinks import QueryPlace
from millstream.errors import MillstreamError, RunError
from millstream.mill.manner import Manner
from millstream.mill.standing.template import Template
from millstream.mill.streams.readers import Reader
from millstream.mill.values import frame
from millstream.spark.process.failures import LAST_BREATH_SECONDS, SPARK_ERRORS, explain_failure
from millstream.spark.process.jvm import hang_up_if_interrupted, is_lost
from millstream.spark.process.leftovers import remove
from millstream.spark.run.bounded_run import Handle, last_of
from millstream.spark.run.progress import Counts
from millstream.spark.stage.local_copy import forget_copies
from millstream.store.batch_log import BatchLog, Subscription
from millstream.store.position import Position
from millstream.store.view_store import ViewStore, ViewSubscription

LAST_WORD_SECONDS = 10.0
"""How long to wait for Spark's events on a query that has ended: they come a moment later."""


class RunningQuery:
    """A persistent query. As a context manager it stops at the end of the block."""

    def __init__(
        self,
        query: Query,
        handle: Handle,
        counts: Counts,
        results: BatchLog | ViewStore | None,
        place: QueryPlace,
        manner: Manner,
        streams: frozenset[str] = frozenset(),
        readers: Sequence[Reader] = (),
        template: Template | None = None,
    ) -> None:
        self.definition = query
        self.manner = manner
        self.streams = streams
        self.since = datetime.now(UTC)
        self.is_temporary = False
        self._place = place
        self.counts = counts
        self.handle = handle
        self._results = results
        self._readers = readers
        self._template = template
        self._lost: str | None = None

    @property
    def name(self) -> str:
        """Its name in SHOW QUERIES."""
        return self.definition.name

    @property
    def is_active(self) -> bool:
        """Whether it still runs."""
        try:
            return bool(self.handle.isActive)
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
            problem = self.handle.exception()
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
        self._let_go()
        try:
            with hang_up_if_interrupted():
                ended = self.handle.awaitTermination() if timeout is None else self.handle.awaitTermination(timeout)
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
        self._let_go()
        for reader in self._readers:
            reader.process_available()
        self.settle()

    def settle(self) -> None:
        """Wait until it has nothing more to do, as far as its sources let it."""
        try:
            with hang_up_if_interrupted():
                self.handle.processAllAvailable()
        except SPARK_ERRORS as problem:
            raise RunError(f"query {self.name} failed: {explain_failure(problem)}") from problem

    def stop(self, closing: bool = True) -> None:
        """Stop it; what it has read so far stays counted in its checkpoint.

        Without `closing`, whoever reads its results is not told that it has ended: it is about to go on.
        """
        self._let_go()
        try:
            with hang_up_if_interrupted():
                self.handle.stop()
        except SPARK_ERRORS as problem:
            raise RunError(f"query {self.name} did not stop: {explain_failure(problem)}") from problem
        finally:
            self.counts.let_go()
            self._finish(closing)

    def give_up(self, reason: str) -> None:
        """Stop it as failed, for a reason that Spark does not know of."""
        self._lost = reason
        self.stop()

    def disown(self, written: Mapping[str, set[str]]) -> None:
        """What it has written to folders is nobody's any more: a new query that overwrites may remove it."""
        for marks in written.values():
            marks -= {mark for mark in marks if mark.startswith(self._place.id)}

    def to_arrow(self) -> pa.Table:
        """The result rows kept so far, also those of earlier runs; of a view the newest for each key."""
        return self._kept().table()

    def to_pandas(self) -> pd.DataFrame:
        """The result rows kept so far."""
        return frame(self.to_arrow())

    def subscribe(
        self, timeout: float | None = None, after: Position | str | None = None
    ) -> Subscription | ViewSubscription:
        """The kept batches and then new ones as they come; ends with the query, or after `timeout` idle seconds.

        A view first gives all that it holds, then what happens to its keys, each with the word for it in the column
        `op`. The subscription knows the `position` of the row it gave last; another one goes on `after` that, also in
        another run. Rows that are not kept any more are an error: none is passed over.
        """
        return self._kept().subscribe(Position.parse(after) if isinstance(after, str) else after, timeout)

    @property
    def dropped(self) -> int:
        """How many result rows were let go because more came than SET results_kept allows."""
        return self._results.dropped if self._results else 0

    def _kept(self) -> BatchLog | ViewStore:
        if self._results is None:
            fed = " and ".join(self.definition.sinks) or self.definition.into
            raise RunError(
                f"query {self.name} feeds {fed} and keeps no rows\n"
                "help: read the sink, or use CREATE QUERY name AS SELECT ..."
            )
        return self._results

    @property
    def results(self) -> BatchLog | ViewStore | None:
        """The rows that it keeps, if it keeps any."""
        return self._results

    def _finish(self, closing: bool = True) -> None:
        self.counts.end()
        forget_copies(self._place.id)
        try:
            self.counts.finish(last_of(self.handle), LAST_WORD_SECONDS)
        except SPARK_ERRORS:
            if not is_lost(LAST_BREATH_SECONDS):  # what it did last is then known to nobody
                raise
        finally:
            if self._results and closing:
                self._results.close()
            if self._template is not None:
                self._template.end()
            if self.is_temporary:
                remove(self._place.folder)

    def _let_go(self) -> None:
        """A template whose first batch waits for registrations waits no longer."""
        if self._template is not None:
            self._template.let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(RunError):
            self.stop()

    def __repr__(self) -> str:
        return f"<query {self.name}: {self.state}, {self.counts.rows_in} rows in, {self.counts.rows_out} rows out>"


def has_started(outcome: RunningQuery | MillstreamError) -> RunningQuery:
    """What runs; raise why nothing does."""
    if isinstance(outcome, MillstreamError):
        raise outcome
    return outcome
