"""The one window with all rows of a table."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.structure import Structure
from millstream.windows.emit import TABLES_ARE_COMPLETE
from millstream.windows.sliding import Sliding


@dataclass(frozen=True)
class Whole(Sliding):
    """A window that every time stamp is in, and that nobody names: an aggregate without one is computed over it.

    >>> from millstream.windows.tuples import Tuple
    >>> [t.time for t in Whole().extent(0, [Tuple(-(2**60)), Tuple(2**60)])]
    [-1152921504606846976, 1152921504606846976]
    """

    range: int = 2**62
    slide: int = 2**62
    origin: int = -(2**61)

    @property
    def structure(self) -> Structure:  # noqa: D102
        return ("whole",)

    @property
    def text(self) -> str:
        """There is nothing to write."""
        return "all rows"

    @property
    def noun(self) -> str:  # noqa: D102
        return "a whole table"

    @property
    def length(self) -> int | None:
        """It has no bounds to speak of."""
        return None

    @property
    def reason_not_to_emit(self) -> str | None:
        """Only tables have it."""
        return TABLES_ARE_COMPLETE

    @property
    def whole(self) -> bool:
        """Always."""
        return True


WHOLE = Whole()
