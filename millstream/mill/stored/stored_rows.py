"""The rows that a mill keeps: the results of queries, views, and stored tables."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.catalog.definitions import NEWEST, Query, Table, View
from millstream.connectors.places.query_place import QueryPlace
from millstream.errors import RunError
from millstream.mill.home.home import QUERIES, Home
from millstream.mill.home.query_record import QueryRecord
from millstream.store.batch_log import BatchLog, have_same_columns
from millstream.store.feed import Feed
from millstream.store.versions import Versions
from millstream.store.view_store import ViewColumns, ViewStore, reopened, schema_in
from millstream.store.view_versions import ViewVersions

RowStore = BatchLog | ViewStore
"""Where the rows of a query are kept."""

MANY_FILES = 64
"""Of so many files that INSERT has made, each with few rows, one is made."""

RESULTS = "results"
"""The folder of a query in which its rows are."""

_OURS = "rows-"


class StoredRows:
    """Opens what is kept in the folders of a home, each once, and knows their newest versions."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._versions: dict[Path, Versions] = {}
        self._views: dict[Path, ViewVersions] = {}
        self._feeds: dict[Path, Feed] = {}

    # -- results -------------------------------------------------------------------------------------------

    def open(
        self, query: Query, schema: pa.Schema, kept: int, place: QueryPlace, earlier: BatchLog | ViewStore | None = None
    ) -> BatchLog | ViewStore:
        """Where the rows of a query go: all of them one after the other, or the newest for each key.

        A query that goes on with the same columns in the same folder goes on with what it had `earlier`, and who
        follows that with it; else they are told that it has ended.
        """
        folder = place.folder / RESULTS
        if earlier is not None:
            if (
                earlier.folder == folder
                and have_same_columns(earlier.arriving_schema, schema)
                and not (place.fresh or earlier.closed)
            ):
                return earlier
            earlier.close()
        if not query.keys:
            log = BatchLog(schema, kept, folder, place.fresh)
            place.check_reached(log.last - log.begin, f"the results of query {query.name}")
            return log
        view = ViewStore(schema, _columns_of(query, schema), kept, folder, place.fresh)
        place.check_reached(view.batch, f"view {query.name}")
        root = self._root_of(query)
        with self._lock:
            self._views[root] = ViewVersions(view, self._versions_in(root))
        return view

    def view(self, view: View) -> ViewStore:
        """The answers of a view; if its query does not run, those that it has left."""
        return self._of_view(view).view

    def forget(self, query: Query) -> None:
        """A query is no more, and what it kept has gone."""
        with self._lock:
            self._views.pop(self._root_of(query), None)
            self._versions.pop(self._root_of(query), None)
        record = QueryRecord.load(self._home.query_folder(query.name) / "query.json")
        if query.into is not None and record is not None:
            # The stream that it fed waits for it no more.
            self.feed(self._home.feed_folder(query.into)).dismiss(record.id)

    def _of_view(self, view: View) -> ViewVersions:
        root, folder = self._root_of(view.query), self._home.query_folder(view.query.name) / RESULTS
        with self._lock:
            if (found := self._views.get(root)) is None:
                schema = schema_in(folder)
                if schema is None:
                    raise RunError(
                        f"view {view.name} holds nothing: its query has never started\nhelp: START QUERY {view.name}"
                    )
                kept = reopened(schema, _columns_of(view.query, schema), folder)
                found = self._views[root] = ViewVersions(kept, self._versions_in(root))
            return found

    def _root_of(self, query: Query) -> Path:
        return self._home.query_folder(query.name) / "versions"

    # -- versions ------------------------------------------------------------------------------------------

    def folder_of(self, table: Table) -> Path:
        """The newest version of a table or a view."""
        if isinstance(table, View):
            return self._of_view(table).now()
        newest = self._of_table(table).newest()
        if newest is None:
            raise RunError(f"the rows of table {table.name} are gone: there is nothing in {table.source.rest}")
        return newest

    def newest(self, folder: Path) -> Path | None:
        """The newest version of that of which a folder holds one; None if it is no folder of ours."""
        if (view := self._views.get(folder.parent)) is not None:
            return view.recent_folder()
        versions = self._versions.get(folder.parent)
        return None if versions is None else versions.newest()

    def hold(self, folder: Path) -> None:
        """Keep a version: someone reads it."""
        if (versions := self._versions.get(folder.parent)) is not None:
            versions.hold(folder)

    def let_go(self, folder: Path) -> None:
        """Say that who held a version reads it no more."""
        if (versions := self._versions.get(folder.parent)) is not None:
            versions.let_go(folder)

    def _of_table(self, table: Table) -> Versions:
        with self._lock:
            return self._versions_in(Path(table.source.rest))

    def _versions_in(self, root: Path) -> Versions:
        if root not in self._versions:  # a second one would take what the first is making for leavings
            self._versions[root] = Versions(root)
        return self._versions[root]

    def feed(self, folder: Path) -> Feed:
        """The rows that are put into a stream, by their folder."""
        with self._lock:
            if folder not in self._feeds:
                feed = self._feeds[folder] = Feed(folder)
                # Killed while one was dropped: nobody waits for a query that is not there.
                records = map(QueryRecord.load, (self._home.root / QUERIES).glob("*/query.json"))
                for gone in feed.feeders - {record.id for record in records if record is not None}:
                    feed.dismiss(gone)
            return self._feeds[folder]

    def forget_feed(self, folder: Path) -> None:
        """Remove the rows of a stream for good, with the columns that are noted beside them."""
        with self._lock:
            self._feeds.pop(folder, None)
        shutil.rmtree(folder.parent, ignore_errors=True)

    # -- tables --------------------------------------------------------------------------------------------

    def has(self, root: Path) -> bool:
        """Whether there are rows in a folder."""
        with self._lock:
            return self._versions_in(root).newest() is not None

    def replace(self, root: Path, write: Callable[[Path], None]) -> Path:
        """Put rows in the place of those of a table; `write` puts them into a folder that is not there yet."""
        with self._lock:
            versions = self._versions_in(root)
        return versions.make(lambda aside: _write(write, aside))

    def add(self, table: Table, write: Callable[[Path], None]) -> Path:
        """Put rows beside those of a table."""
        versions = self._of_table(table)

        def fill(aside: Path) -> None:
            _write(write, aside)
            before = versions.newest()
            files = sorted(before.glob("[!._]*")) if before is not None else []
            few = [file for file in files if file.name.startswith(_OURS)]
            if len(few) >= MANY_FILES:
                write_rows(aside, pa.concat_tables(map(pq.read_table, few)))
                files = [file for file in files if file not in few]
            for file in files:
                (aside / file.name).hardlink_to(file)

        return versions.make(fill)

    def remove(self, table: Table) -> None:
        """Remove the rows of a table for good."""
        root = Path(table.source.rest)
        with self._lock:
            self._versions.pop(root, None)
        shutil.rmtree(root, ignore_errors=True)


def _columns_of(query: Query, schema: pa.Schema) -> ViewColumns:
    """The columns of the view of a query, of those that come."""
    shown = tuple(name for name in schema.names if name != NEWEST)
    return ViewColumns(shown, query.keys, NEWEST if NEWEST in schema.names else query.select.time)


def write_rows(folder: Path, rows: pa.Table) -> None:
    """Write rows to a file in a folder that has others."""
    folder.mkdir(exist_ok=True)
    number = len(list(folder.glob(f"{_OURS}*")))
    pq.write_table(rows, folder / f"{_OURS}{folder.name[-8:]}-{number:05d}.parquet")


def count_rows(folder: Path) -> int:
    """How many rows the files of a folder have."""
    return sum(int(pq.read_metadata(file).num_rows) for file in folder.glob("[!._]*"))


def _write(write: Callable[[Path], None], aside: Path) -> None:
    """Let rows be written into a folder of their own, then put the files where they belong."""
    written = aside / f"w-{aside.name[-8:]}"
    write(written)
    for file in written.glob("[!._]*"):
        file.rename(aside / file.name)
    shutil.rmtree(written, ignore_errors=True)
