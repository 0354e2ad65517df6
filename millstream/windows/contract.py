"""What every window must say: its ids, their tuples, a tuple's ids, and when an id is complete."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Sequence
from typing import Generic, TypeVar

from millstream.windows.tuples import Tuple

W = TypeVar("W", bound=Hashable)


class Window(ABC, Generic[W]):
    """The semantics of one kind of window, independent of arrival order and of how it is computed.

    `extent` is the definition; `wids` is its dual: t in extent(w, T) if and only if w in wids(t, T).
    T, the tuples so far, matters only to the kinds whose windows depend on the data (sessions, rows, slide by tuple);
    the others may be asked without it.
    """

    @abstractmethod
    def windows(self, tuples: Sequence[Tuple]) -> set[W]:
        """The ids of the windows that have at least one of the tuples: an empty window gives no answer."""

    @abstractmethod
    def extent(self, wid: W, tuples: Sequence[Tuple]) -> list[Tuple]:
        """The tuples of the window, as its definition says: the reference, which may be slow."""

    @abstractmethod
    def wids(self, tuple_: Tuple, tuples: Sequence[Tuple] = ()) -> Collection[W]:
        """The ids of the windows that the tuple, one of the tuples, belongs to."""

    @abstractmethod
    def bounds(self, wid: W, tuples: Sequence[Tuple] = ()) -> tuple[int | None, int | None]:
        """window_start and window_end; None where the window has no such end."""

    @abstractmethod
    def closed_by(self, wid: W, punctuation: int, tuples: Sequence[Tuple] = ()) -> bool:
        """Whether the window is complete once no more tuples with time < punctuation will come."""
