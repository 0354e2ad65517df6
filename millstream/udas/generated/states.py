"""What every generated class is: the state of one aggregate for one group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from millstream.udas.generated.tables import Table, Window

Rows = list[tuple[Any, ...]]
"""What a body returned: one tuple per INSERT INTO RETURN, in order."""

NO_TABLES: Mapping[str, Table] = {}


class State:
    """A base aggregate at work. Generated classes override the parts that they have.

    `variables` are the attributes that hold columns of one-row tables, `local` those that hold tables.
    """

    __slots__ = ("last", "seen")

    variables: ClassVar[tuple[str, ...]] = ()
    local: ClassVar[tuple[str, ...]] = ()

    def __init__(self, tables: Mapping[str, Table] = NO_TABLES) -> None:
        self.seen = False
        self.last: tuple[Any, ...] = ()

    def initialize(self, *values: Any) -> Rows:
        """INITIALIZE: what the first tuple does."""
        return []

    def iterate(self, *values: Any) -> Rows:
        """ITERATE: what every other tuple does."""
        return []

    def terminate(self) -> Rows:
        """TERMINATE: what the end of the input does; nothing if there was no tuple."""
        return []

    def add(self, *values: Any) -> Rows:
        """One tuple: the first initializes, the others iterate."""
        if self.seen:
            return self.iterate(*values)
        self.seen = True
        return self.initialize(*values)

    def to_plain(self) -> tuple[Any, ...]:
        """The state as tuples and lists of plain values, to be stored."""
        attributes = [getattr(self, name) for name in self.variables]
        tables = [getattr(self, name).values() for name in self.local]
        return (self.seen, self.last, attributes, tables)

    @classmethod
    def from_plain(cls, plain: Sequence[Any], tables: Mapping[str, Table] = NO_TABLES) -> Self:
        """The state that was stored."""
        state = cls(tables)
        state.seen, last, attributes, rows = plain
        state.last = tuple(last)
        for name, value in zip(cls.variables, attributes, strict=True):
            setattr(state, name, value)
        for name, values in zip(cls.local, rows, strict=True):
            table = getattr(state, name)
            table.clear()
            table.insert(values)
        return state


class WindowState(State):
    """A window aggregate at work.

    For each tuple that arrives: `expire()` for every tuple that has left the window, oldest first, then `enter`, then
    `add`; `arrive` does all of it. Time is any number that grows: microseconds, or the number of the tuple.
    """

    __slots__ = ("inwindow",)

    inwindow: Window

    def at_expiry(self, *values: Any) -> Rows:
        """EXPIRE: what a tuple does when it leaves; it still is in `inwindow`."""
        return []

    @property
    def oldest_time(self) -> int | None:
        """The time of the next tuple to expire, None if the window is empty."""
        return self.inwindow.oldest_time

    def enter(self, values: Sequence[Any], time: int) -> None:
        """Put a tuple into `inwindow`."""
        self.inwindow.enter(values, time)

    def expire(self) -> Rows:
        """EXPIRE for the oldest tuple, which then is gone; nothing if there is none."""
        oldest = self.inwindow.oldest()
        if oldest is None:
            return []
        result = self.at_expiry(*oldest[: self.inwindow.width])
        self.inwindow.discard(oldest)
        return result

    def expire_before(self, time: int) -> Rows:
        """EXPIRE for every tuple before a time, oldest first."""
        result: Rows = []
        window = self.inwindow
        width = window.width
        while (oldest := window.oldest()) is not None and oldest[width] < time:
            result += self.at_expiry(*oldest[:width])
            window.discard(oldest)
        return result

    def arrive(self, values: Sequence[Any], time: int, start: int) -> tuple[Rows, Rows]:
        """A tuple comes, and the window now starts at `start`: what the expired returned, and what it returned."""
        expired = self.expire_before(start)
        self.enter(values, time)
        return expired, self.add(*values)
