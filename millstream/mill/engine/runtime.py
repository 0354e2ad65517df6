"""Spark as an engine uses it: the session, the progress of its queries, and what lowering needs to know."""

from __future__ import annotations

import contextlib
import itertools
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

from millstream.connectors.places.facts import expected_tasks
from millstream.connectors.places.query_place import QueryPlace
from millstream.errors import RunError
from millstream.mill.stored.definitions import Definitions
from millstream.mill.stored.stored_rows import StoredRows
from millstream.spark.buckets import task_count
from millstream.spark.host import Host
from millstream.spark.process.failures import SPARK_ERRORS
from millstream.spark.process.leftovers import hold, new_folder, remove
from millstream.spark.process.session import open_session
from millstream.spark.run.progress import Counts, ProgressListener
from millstream.spark.run.query import Timing
from millstream.spark.run.ship_classes import ship_classes


@dataclass(frozen=True)
class Place:
    """Where an engine works: its Spark, and the folder that relative addresses start from.

    With `once`, queries end when they have read what is there. `shares`: whether queries may have a reading together.
    """

    base: Path
    master: str | None = None
    conf: Mapping[str, str] | None = None
    once: bool = False
    shares: bool = True


class Runtime:
    """The Spark session of an engine, started when it is first needed, and what belongs to it.

    `written` are the files that queries of this process write, `timing` the delays of their batches.
    """

    def __init__(self, place: Place, definitions: Definitions, stored: StoredRows) -> None:
        self.place, self.stored, self.timing = place, stored, Timing()
        self.written: dict[str, set[str]] = {}
        self.closed = False
        self._definitions = definitions
        self._id = uuid.uuid4().hex[:8]
        self._runs = itertools.count(1)
        self._temporary: Path | None = None
        self._spark: SparkSession | None = None
        self._progress: ProgressListener | None = None
        self._opening = threading.Lock()

    @property
    def has_spark(self) -> bool:
        """Whether Spark has been started."""
        return self._spark is not None

    @property
    def spark(self) -> SparkSession:
        """The Spark session."""
        with self._opening:
            if self._spark is None:
                if self.closed:
                    raise RunError("this connection is closed")
                self._spark = open_session(self.place.master, self.place.conf, self._definitions.home.spark_log)
                self._progress = ProgressListener(self._spark)
            return self._spark

    @property
    def progress(self) -> ProgressListener:
        """What listens to the progress of the queries of the session."""
        _ = self.spark
        assert self._progress is not None  # noqa: S101  (opened with the session)
        return self._progress

    @property
    def tasks(self) -> int | None:
        """How many tasks Spark runs side by side, as far as that is known before it is started."""
        if self._spark is not None:
            return task_count(self._spark)
        return expected_tasks(self.place.master, self.place.conf or {})

    @property
    def temporary_folder(self) -> Path:
        """Where queries without a name have their places."""
        with self._opening:
            if self._temporary is None:
                self._temporary = new_folder()
                self._temporary_lock = hold(self._temporary)
            return self._temporary

    def host(self) -> Host:
        """What lowering needs to know."""
        ship_classes(self._definitions.catalog)
        home = self._definitions.home
        return Host(
            self.spark,
            self.place.base,
            home.log_of,
            written=self.written,
            history_of=home.history_of,
            stored=self.stored,
        )

    def host_for(self, place: QueryPlace | None) -> Host:
        """The same for queries that run on, and keep their state in one place if they have any."""
        return replace(self.host(), place=place, once=self.place.once)

    def label(self, name: str) -> str:
        """A name for Spark, given once, for a query that is about to start."""
        return f"{self._id}.{name}.{next(self._runs)}"

    def follow(self, name: str, counts: Counts) -> str:
        """The name for Spark under which a query is counted that is about to start."""
        progress, label = self.progress, self.label(name)
        progress.follow(label, counts)
        return label

    def close(self) -> None:
        """Let go of all but the Spark session, which stays for others in this process."""
        if self._temporary is not None:
            remove(self._temporary)
        if self._progress is not None:
            with contextlib.suppress(*SPARK_ERRORS):  # Spark's process may be gone
                self._progress.stop()
