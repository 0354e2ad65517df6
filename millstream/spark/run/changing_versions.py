"""Stored tables and views that change while a query reads them: it is given the newest version between batches.

Of what is stored in the home there are versions, each with a folder of its own. A query is given the list of files of
another folder, all at once: a batch must not begin with the name of one folder and the files of another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.connectors.places.aliases import folder_alias
from millstream.spark.host import Stored
from millstream.spark.process.failures import SPARK_ERRORS
from millstream.spark.run.changing_tables import LOOK_SECONDS, relations, version_in
from millstream.spark.run.clock import Clock, every
from millstream.spark.run.progress import Counts


class VersionWatch:
    """The versions that the queries of a mill read."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def follow(self, frame: DataFrame, query: StreamingQuery, counts: Counts, stored: Stored, changes: bool) -> None:
        """Hold the versions that a query reads until it ends; with `changes`, keep them up to date."""
        found = [(relation, version_in(folders, stored)) for relation, folders in relations(frame)]
        versions = [_Version(relation, folder) for relation, folder in found if folder is not None]
        if not versions:
            return
        for version in versions:
            stored.hold(version.folder)
        read = _Read(query, frame.sparkSession, counts, stored, versions, changes)
        appointment = every(self._clock, LOOK_SECONDS, lambda: appointment.cancel() if read.is_over() else None)


@dataclass
class _Version:
    """A stored table in a plan, and the version that is read; those before it are held as long as a batch may."""

    relation: Any
    folder: Path
    before: list[tuple[Path, int]] = field(default_factory=list)

    @property
    def held(self) -> list[Path]:
        """All versions that are held for it."""
        return [self.folder, *(folder for folder, _ in self.before)]


@dataclass
class _Read:
    """What a query reads of the store."""

    query: StreamingQuery
    spark: SparkSession
    counts: Counts
    stored: Stored
    versions: list[_Version]
    changes: bool

    def is_over(self) -> bool:
        """Renew the versions as long as the query runs; whether it has ended, and they have been let go of."""
        try:
            over = self.counts.is_over or not self.query.isActive
            if not over and self.changes:
                for version in self.versions:
                    self._renew(version)
        except SPARK_ERRORS:  # whoever runs the query is told why by its own handle
            over = True
        if over:
            for folder in (folder for version in self.versions for folder in version.held):
                self.stored.let_go(folder)
        return over

    def _renew(self, version: _Version) -> None:
        """Let the query read the newest version, and let go of those that no batch reads any more."""
        newest = self.stored.newest(version.folder)
        if newest is not None and newest != version.folder:
            listed = self.spark.read.schema(str(version.relation.dataSchema().toDDL())).parquet(
                folder_alias(str(newest))
            )
            location = version.relation.getClass().getDeclaredField("location")
            location.setAccessible(True)
            location.set(version.relation, next(relation for relation, _ in relations(listed)).location())
            self.stored.hold(newest)
            version.before.append((version.folder, self._batch()))
            version.folder = newest
        if version.before and (done := self._batch()) > version.before[0][1] + 1:
            for folder, batch in list(version.before):
                if done > batch + 1:
                    self.stored.let_go(folder)
                    version.before.remove((folder, batch))

    def _batch(self) -> int:
        """The batch that was completed last."""
        progress = self.query.lastProgress
        return -1 if progress is None else int(progress["batchId"])
