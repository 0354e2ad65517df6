"""Tables that change while a query runs: new files are seen from the next batch on.

Spark lists the files of a table once, when a query is made. So the folders are watched, and when something has changed
there, Spark is asked to list them again.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from millstream.connectors.places.aliases import real_path
from millstream.connectors.places.paths import is_local, strip_scheme
from millstream.spark.host import Stored
from millstream.spark.process.failures import SPARK_ERRORS
from millstream.spark.run.clock import Clock, every
from millstream.spark.run.progress import Counts

LOOK_SECONDS = 0.2
FAR_SECONDS = 5.0
"""How often files are listed anew that are not on this machine: nobody can tell cheaply whether they have changed."""

Look = tuple[tuple[str, int, int], ...]


class Watch:
    """Folders of tables that queries of a mill join, each looked at once for all of them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._looking = threading.Lock()
        self._folders: dict[tuple[str, ...], _Watched] = {}

    def follow(self, frame: DataFrame, counts: Counts, stored: Stored) -> None:
        """Keep the tables that a query joins up to date until it ends; of those that are stored there are versions."""
        for relation, folders in relations(frame):
            if version_in(folders, stored) is not None:
                continue
            index = relation.location()
            with self._looking:
                watched = self._folders.get(tuple(folders))
                if watched is None:
                    watched = self._folders[tuple(folders)] = _Watched(self._clock, folders)
                watched.add(index, counts)
            self._forget_ended()

    def _forget_ended(self) -> None:
        with self._looking:
            self._folders = {folders: one for folders, one in self._folders.items() if one.is_wanted}


class _Watched:
    """Folders, what was last seen in them, and Spark's lists of their files that must know."""

    def __init__(self, clock: Clock, folders: list[str]) -> None:
        self._folders = folders
        self._indexes: list[tuple[Any, Counts]] = []
        self._seen = _look(folders)
        self._appointment = every(clock, FAR_SECONDS if self._seen is None else LOOK_SECONDS, self._tell)

    def add(self, index: Any, counts: Counts) -> None:
        """Keep a list of files up to date until its query ends. It was made a moment ago, and may be late already."""
        self._indexes.append((index, counts))
        if self._seen is not None and _look(self._folders) != self._seen:
            index.refresh()

    @property
    def is_wanted(self) -> bool:
        """Whether a query that runs needs it; if not, nothing is looked at any more."""
        self._indexes = [(index, counts) for index, counts in self._indexes if not counts.is_over]
        if not self._indexes:
            self._appointment.cancel()
        return bool(self._indexes)

    def _tell(self) -> None:
        if not self.is_wanted:
            return
        look = _look(self._folders)
        if look is None or look != self._seen:
            for index, _ in self._indexes:
                with contextlib.suppress(*SPARK_ERRORS):
                    index.refresh()
            self._seen = look


def version_in(folders: list[str], stored: Stored) -> Path | None:
    """The version of a stored table or a view that lies in folders, if one does."""
    folder = Path(real_path(strip_scheme(folders[0]))) if len(folders) == 1 and is_local(folders[0]) else None
    return None if folder is None or stored.newest(folder) is None else folder


def relations(frame: DataFrame) -> Iterator[tuple[Any, list[str]]]:
    """Spark's relations of the files in a plan, each with the folders that it lists."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001  (PySpark has no other way)
    for number in range(leaves.size()):
        leaf = leaves.apply(number)
        if leaf.getClass().getSimpleName() == "LogicalRelation":
            relation = leaf.relation()
            if relation.getClass().getSimpleName() == "HadoopFsRelation":
                paths = relation.location().rootPaths()
                yield relation, [paths.apply(i).toString() for i in range(paths.size())]


def _look(folders: list[str]) -> Look | None:
    """What is in folders of this machine; None if they are elsewhere."""
    found = []
    for folder in folders:
        if not is_local(folder):
            return None
        for file in sorted(_files(Path(strip_scheme(folder)))):
            with contextlib.suppress(OSError):  # gone since it was listed
                stat = file.stat()
                found.append((str(file), stat.st_mtime_ns, stat.st_size))
    return tuple(found)


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, _, names in os.walk(path):
        yield from (Path(folder) / name for name in names)
