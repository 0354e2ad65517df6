"""PostgreSQL through ADBC: the rows of a table as Arrow batches, as they come, with a limit on every wait."""

from __future__ import annotations

import contextlib
import queue
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pyarrow as pa

from millstream.connectors.postgres.place import PostgresPlace
from millstream.errors import RunError, suggest

# Two batches on their way keep the server and Spark busy at once; more would only fill memory.
_AHEAD = 2
_PATIENCE = 2.0

_COLUMNS = """
SELECT n.nspname::text, c.relname::text, pg_table_is_visible(c.oid), a.attname::text
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND lower(c.relname) = lower($1::text)
ORDER BY n.nspname, c.relname, a.attnum
"""


@dataclass(frozen=True)
class Wanted:
    """A column to read: its name, and the types of PostgreSQL that it is cast to, one after the other."""

    name: str
    casts: tuple[str, ...]


@dataclass(frozen=True)
class Reach:
    """A table of a server, and how to get there; `name` is the table's name here."""

    name: str
    place: PostgresPlace
    connect_timeout: int
    read_timeout: int
    password: str = field(default="", repr=False)

    @property
    def table(self) -> str:
        """The table as the server calls it, for messages."""
        return ".".join(self.place.table or (self.name,))

    @property
    def connection(self) -> str:
        r"""The connection in libpq's words.

        >>> Reach("item", PostgresPlace("h", database="it's"), 9, 30).connection
        "host='h' dbname='it\\'s' connect_timeout='10' client_encoding='UTF8' fallback_application_name='millstream'"
        """
        place = self.place
        known = {
            "host": place.host,
            "port": place.port,
            "user": place.user,
            "dbname": place.database,
            "password": self.password,
            **dict(place.ssl),
            # The wait below gives up first, and in clearer words.
            "connect_timeout": str(self.connect_timeout + 1),
            "client_encoding": "UTF8",
            "fallback_application_name": "millstream",
        }
        return " ".join(f"{key}='{_escape_value(value)}'" for key, value in known.items() if value)


def driver(name: str) -> ModuleType:
    """The driver of ADBC, or how to get it."""
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise RunError(
            f"table {name}: what reads PostgreSQL is not installed\nhelp: pip install 'millstream[postgres]'"
        ) from None
    return dbapi  # type: ignore[no-any-return]


def identifier(name: str) -> str:
    """A name as PostgreSQL takes it, whatever is in it.

    >>> identifier('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def read(reach: Reach, wanted: Sequence[Wanted], limit: int | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of the table as it is now, in batches; all of one moment, since one statement reads them."""
    feed = _Feed(reach, wanted, limit)
    feed.start()
    try:
        # The first thing that comes is the word that the connection stands.
        feed.next(reach.connect_timeout)
        while (batch := feed.next(reach.read_timeout)) is not None:
            yield batch
    finally:
        feed.close()


class _Feed(threading.Thread):
    """Reads in a thread of its own: a call that waits for a server that is frozen could not be given up."""

    def __init__(self, reach: Reach, wanted: Sequence[Wanted], limit: int | None) -> None:
        super().__init__(name=f"postgres {reach.name}", daemon=True)
        self._reach = reach
        self._wanted = wanted
        self._limit = limit
        self._driver = driver(reach.name)
        self._connection: Any = None
        self._queue: queue.Queue[pa.RecordBatch | Exception | bool | None] = queue.Queue(_AHEAD)
        self._closed = threading.Event()
        self._ended = False

    def next(self, seconds: int) -> pa.RecordBatch | None:
        """What comes next; None after the last batch."""
        try:
            found = self._queue.get(timeout=seconds)
        except queue.Empty:
            raise RunError(_timeout_text(self._reach, seconds)) from None
        self._ended = found is None or isinstance(found, Exception)
        # What fails while rows come may be told in Arrow's own errors.
        if isinstance(found, (self._driver.Error, pa.ArrowException, OSError)):
            raise RunError(_explain_error(self._reach, str(found), seconds)) from None
        if isinstance(found, Exception):
            raise found
        return found

    def close(self) -> None:
        """Give up what is still under way."""
        self._closed.set()
        if self._ended or self._connection is None:
            return
        # Through a thread, too: a frozen server does not answer to this either.
        cancel = threading.Thread(target=self._cancel, daemon=True)
        cancel.start()
        cancel.join(_PATIENCE)
        self.join(_PATIENCE)

    def run(self) -> None:
        """Read, and put what comes into the queue; the last thing is None or an error."""
        try:
            with self._driver.connect(self._reach.connection) as self._connection:
                self._put(True)
                with self._connection.cursor() as cursor:
                    for batch in self._batches(cursor):
                        if not self._put(batch):
                            return
            self._put(None)
        except Exception as problem:  # it is raised again where it is waited for
            self._put(problem)

    def _batches(self, cursor: Any) -> Iterator[pa.RecordBatch]:
        # A time without a zone means UTC, whatever the server thinks; it ends with the transaction.
        cursor.execute("SET LOCAL TimeZone = 'UTC'")
        cursor.execute(_COLUMNS, (self._reach.place.table[-1] if self._reach.place.table else self._reach.name,))
        query = _query(self._reach, self._wanted, cursor.fetchall())
        cursor.execute(query if self._limit is None else f"{query} LIMIT {self._limit}")
        yield from cursor.fetch_record_batch()

    def _put(self, thing: pa.RecordBatch | Exception | bool | None) -> bool:
        """Whether it was taken, and not given up."""
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):
                self._queue.put(thing, timeout=0.1)
                return True
        return False

    def _cancel(self) -> None:
        # Too late is no harm: what was to be stopped has ended.
        with contextlib.suppress(self._driver.Error):
            self._connection.adbc_cancel()


def _query(reach: Reach, wanted: Sequence[Wanted], found: Sequence[tuple[str, str, bool, str]]) -> str:
    """The statement that reads the table, with names as they are on the server."""
    tables: dict[tuple[str, str], list[str]] = {}
    for schema, table, visible, column in found:
        if schema.lower() == reach.place.table[0].lower() if len(reach.place.table) == 2 else visible:
            tables.setdefault((schema, table), []).append(column)
    if not tables:
        elsewhere = sorted({schema for schema, *_ in found} - {"pg_catalog", "information_schema"})
        help_ = f": there is one in the schema {elsewhere[0]}, write table={elsewhere[0]}.NAME" if elsewhere else ""
        place = f"the database {reach.place.database}" if reach.place.database else "the database"
        raise RunError(f"table {reach.name}: no table '{reach.table}' in {place} at {reach.place.server}{help_}")
    exact = ".".join(reach.place.table) or reach.name
    schema, table = min(tables, key=lambda t: exact not in {t[1], ".".join(t)})
    columns = tables[schema, table]
    items = []
    for want in wanted:
        name = want.name if want.name in columns else _same(want.name, columns)
        if name is None:
            raise RunError(
                f"table {reach.name}: column {want.name} is missing in '{reach.table}' at {reach.place.server}: "
                f"{suggest(want.name, columns)}"
            )
        text = identifier(name)
        for type_ in want.casts:
            text = f"CAST({text} AS {type_})"
        items.append(f"{text} AS {identifier(want.name)}")
    return f"SELECT {', '.join(items)} FROM {identifier(schema)}.{identifier(table)}"  # noqa: S608  (all quoted)


def _same(name: str, columns: Sequence[str]) -> str | None:
    return next((c for c in columns if c.lower() == name.lower()), None)


def _timeout_text(reach: Reach, seconds: int) -> str:
    return f"table {reach.name}: PostgreSQL at {reach.place.server} did not answer within {seconds} s"


def _explain_error(reach: Reach, text: str, seconds: int) -> str:
    """What the driver says, in one line: Spark's errors keep no more."""
    head, server = f"table {reach.name}: ", reach.place.server
    if "Connection refused" in text:
        return f"{head}connection refused at {server}: is PostgreSQL running there?"
    if "timeout expired" in text:
        return _timeout_text(reach, seconds)
    if "no password supplied" in text:
        return f"{head}PostgreSQL at {server} asks for a password: say OPTIONS (password_env = 'PGPASSWORD')"
    words = re.findall(r"(?:ERROR|FATAL):\s+(.+)", text) or text.strip().splitlines()[-1:]
    return f"{head}PostgreSQL at {server} says: {words[-1].strip() if words else 'nothing'}"


def _escape_value(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "\\'")
