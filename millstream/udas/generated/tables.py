"""Local tables at run time: rows in the order they came, found by the value of a column where that is asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

Row = list[Any]
"""The values of a row, and after them its number in the table."""


def key(value: Any) -> Any:
    """What stands for a value in a dictionary: all NaN are one."""
    return math.nan if value != value else value  # noqa: PLR0124  (only NaN differs from itself)


class Table:
    """Rows of one width, with an index on some columns.

    Rows are lists that end with their number; a statement finds those that it means before it changes any.

    >>> table = Table(2, indexed=(0,))
    >>> table.insert([("a", 1), ("b", 2), ("a", 3)])
    >>> table.delete([row for row in table.where(0, "a") if row[1] == 1])
    >>> table.update((1,), [(row, (row[1] * 10,)) for row in table.rows()])
    >>> table.values()
    [('b', 20), ('a', 30)]
    """

    __slots__ = ("_index", "_next", "_rows", "width")

    def __init__(self, width: int, rows: Iterable[Sequence[Any]] = (), indexed: Iterable[int] = ()) -> None:
        self.width = width
        self._rows: dict[int, Row] = {}
        self._next = 0
        self._index: dict[int, dict[Any, dict[int, Row]]] = {column: {} for column in indexed}
        self.insert(rows)

    def rows(self) -> Iterable[Row]:
        """All rows."""
        return self._rows.values()

    def where(self, column: int, value: Any) -> Iterable[Row]:
        """The rows that have a value in an indexed column; none for NULL."""
        if value is None:
            return ()
        found = self._index[column].get(key(value))
        return () if found is None else found.values()

    def insert(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows."""
        for values in rows:
            row = [*values, self._next]
            self._rows[self._next] = row
            for column, index in self._index.items():
                index.setdefault(key(row[column]), {})[self._next] = row
            self._next += 1

    def delete(self, rows: Iterable[Row]) -> None:
        """Take rows away."""
        for row in list(rows):
            self.discard(row)

    def discard(self, row: Row) -> None:
        """Take a row away, if it is still there."""
        number = row[-1]
        if self._rows.pop(number, None) is None:
            return
        for column, index in self._index.items():
            self._unlink(index, row[column], number)

    def clear(self) -> None:
        """Take every row away."""
        self._rows.clear()
        for index in self._index.values():
            index.clear()

    def update(self, columns: Sequence[int], changes: Iterable[tuple[Row, Sequence[Any]]]) -> None:
        """Give columns new values, row by row."""
        for row, values in changes:
            for column, value in zip(columns, values, strict=True):
                index = self._index.get(column)
                if index is not None:
                    self._unlink(index, row[column], row[-1])
                    index.setdefault(key(value), {})[row[-1]] = row
                row[column] = value

    def values(self) -> list[tuple[Any, ...]]:
        """The rows without their numbers: what is kept when a state is stored."""
        return [tuple(row[:-1]) for row in self._rows.values()]

    def __len__(self) -> int:
        return len(self._rows)

    @staticmethod
    def _unlink(index: dict[Any, dict[int, Row]], value: Any, number: int) -> None:
        bucket = index[key(value)]
        del bucket[number]
        if not bucket:
            del index[key(value)]


class Window(Table):
    """`inwindow`: the tuples of a window, oldest first; each row has its time between its values and its number.

    >>> window = Window(1)
    >>> window.enter((5.0,), 10)
    >>> window.enter((7.0,), 20)
    >>> window.oldest(), window.oldest_time, window.oldest_value(0)
    ([5.0, 10, 0], 10, 5.0)
    """

    __slots__ = ("_first",)

    def __init__(self, width: int, rows: Iterable[Sequence[Any]] = (), indexed: Iterable[int] = ()) -> None:
        self._first = 0
        super().__init__(width, rows, indexed)

    def enter(self, values: Sequence[Any], time: int) -> None:
        """Add the newest tuple."""
        number = self._next
        row = [*values, time, number]
        self._rows[number] = row
        for column, index in self._index.items():
            index.setdefault(key(row[column]), {})[number] = row
        self._next = number + 1

    def oldest(self) -> Row | None:
        """The oldest tuple, None if there is none."""
        if not self._rows:
            return None
        # Numbers only grow: looking on from where the last one was costs one step for each row that is gone.
        while self._first not in self._rows:
            self._first += 1
        return self._rows[self._first]

    @property
    def oldest_time(self) -> int | None:
        """The time of the oldest tuple."""
        row = self.oldest()
        return None if row is None else row[self.width]

    def oldest_value(self, column: int) -> Any:
        """A column of the oldest tuple, NULL if there is none."""
        row = self.oldest()
        return None if row is None else row[column]

    def clear(self) -> None:
        """Take every row away."""
        super().clear()
        self._first = self._next
