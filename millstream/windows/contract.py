"""The contract of a window: its tuples, when it is complete, and the questions of parser, binder, plan and lowering."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from millstream.structure import Structure
from millstream.windows.tuples import Tuple

if TYPE_CHECKING:
    from millstream.windows.panes import Paned

W = TypeVar("W", bound=Hashable)


class Window(ABC, Generic[W]):
    """The semantics of one kind of window, independent of arrival order and of how it is computed.

    `extent` is the definition; `wids` is its dual: t in extent(w, T) if and only if w in wids(t, T).
    T, the tuples so far, matters only to the kinds whose windows depend on the data (sessions, rows, slide by tuple);
    the others may be asked without it.

    The properties are what parser, binder, plan and lowering ask; none of them asks which kind a window is. Which
    operator computes a kind is said in `operators/registry.py`.
    """

    # -- tuples --------------------------------------------------------------------------------------------

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

    # -- words ---------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def text(self) -> str:
        """The window in the words of EXPLAIN, as it could be written."""

    @property
    @abstractmethod
    def noun(self) -> str:
        """What errors call a window of this kind: 'a session'."""

    # -- identity ------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def structure(self) -> Structure:
        """The kind and its sizes: windows with one structure have the same state over the same tuples."""

    # -- questions -----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def depends_on_data(self) -> bool:
        """Whether the tuples decide which windows there are: then each partition has windows of its own."""

    @property
    @abstractmethod
    def depends_on_arrival(self) -> bool:
        """Whether the order in which tuples of one time stamp arrive decides which of them are in a window."""

    @property
    @abstractmethod
    def end_inclusive(self) -> bool:
        """Whether window_end is the time of the last tuple, and not the first moment after the window."""

    @property
    @abstractmethod
    def length(self) -> int | None:
        """How long before its end a window starts at most; None if nothing is promised.

        Where it is known, the low-watermark less the length is a promise about window_start.
        """

    @property
    @abstractmethod
    def reason_not_to_emit(self) -> str | None:
        """Why a window cannot answer while it fills (EMIT); None if it can."""

    @property
    @abstractmethod
    def paned(self) -> Paned | None:
        """The window itself, if it is made of panes. Only such windows have an ORIGIN."""

    @abstractmethod
    def by_arrival(self) -> Self:
        """The window where tuples have no time stamp: what ranks tuples ranks them by arrival then."""

    @property
    def whole(self) -> bool:
        """Whether it has all rows of a table, so that there is nothing to move along and nothing to bound."""
        return False

    @property
    def pane_family(self) -> Structure | None:
        """What windows have in common whose answers can be read from the same panes; None if they share none."""
        return None
