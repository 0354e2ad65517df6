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
from pyspark.sql.streaming.query import StreamingQuery

from millstream.connectors.paths import is_local, plain
from millstream.spark.process.failures import SPARK_ERRORS
from millstream.spark.process.jvm import hung_up

LOOK_SECONDS = 0.2
FAR_SECONDS = 5.0
"""How often files are listed anew that are not on this machine: nobody can tell cheaply whether they have changed."""

Look = tuple[tuple[str, int, int], ...]


def follow_tables(frame: DataFrame, query: StreamingQuery) -> None:
    """Keep the tables that a query joins up to date until it ends."""
    indexes = list(_file_indexes(frame))
    if not indexes:
        return

    def go() -> None:
        seen = [_look(folders) for _, folders in indexes]
        # A query that fails ends this too: whoever runs it is told why by its own handle.
        with hung_up(), contextlib.suppress(*SPARK_ERRORS):
            pause = FAR_SECONDS if None in seen else LOOK_SECONDS
            while not query.awaitTermination(pause):  # type: ignore[arg-type]  # fractions are taken too
                for number, (index, folders) in enumerate(indexes):
                    look = _look(folders)
                    if look is None or look != seen[number]:
                        index.refresh()
                        seen[number] = look

    threading.Thread(target=go, name="tables", daemon=True).start()


def _file_indexes(frame: DataFrame) -> Iterator[tuple[Any, list[str]]]:
    """Spark's lists of files of the tables in a plan, each with the folders that it lists."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001  (PySpark has no other way)
    for number in range(leaves.size()):
        leaf = leaves.apply(number)
        if leaf.getClass().getSimpleName() == "LogicalRelation":
            relation = leaf.relation()
            if relation.getClass().getSimpleName() == "HadoopFsRelation":
                paths = relation.location().rootPaths()
                yield relation.location(), [paths.apply(i).toString() for i in range(paths.size())]


def _look(folders: list[str]) -> Look | None:
    """What is in folders of this machine; None if they are elsewhere."""
    found = []
    for folder in folders:
        if not is_local(folder):
            return None
        for file in sorted(_files(Path(plain(folder)))):
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
