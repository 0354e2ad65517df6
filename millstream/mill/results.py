"""Kept results: the newest rows of a query, and its subscribers."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from functools import partial

import pyarrow as pa


class Results:
    """Arrow tables in the order they came, at most so many rows; what is dropped is counted."""

    def __init__(self, schema: pa.Schema, kept: int) -> None:
        self.schema = schema
        self._kept = kept
        self._changed = threading.Condition()
        self._tables: deque[pa.Table] = deque()
        self._first = 0
        self._rows = 0
        self._closed = False
        self.dropped = 0

    def add(self, table: pa.Table) -> None:
        """Keep a batch of rows, and let go of the oldest if there are now too many."""
        with self._changed:
            self._tables.append(table)
            self._rows += table.num_rows
            while self._rows > self._kept and len(self._tables) > 1:
                old = self._tables.popleft()
                self._first += 1
                self._rows -= old.num_rows
                self.dropped += old.num_rows
            self._changed.notify_all()

    def close(self) -> None:
        """Say that no more rows will come."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def table(self) -> pa.Table:
        """All rows that are kept."""
        with self._changed:
            tables = list(self._tables)
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def _has_news(self, position: int) -> bool:
        return self._closed or position < self._first + len(self._tables)

    def subscribe(self, timeout: float | None = None) -> Iterator[pa.Table]:
        """The batches that are kept and those that come; ends when the query does, or after `timeout` idle seconds."""
        position = 0
        while True:
            with self._changed:
                position = max(position, self._first)
                ready = self._changed.wait_for(partial(self._has_news, position), timeout)
                position = max(position, self._first)
                batches = list(self._tables)[position - self._first :]
                position += len(batches)
            yield from batches
            if not ready or (self._closed and not batches):
                return
