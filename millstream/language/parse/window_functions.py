"""The table functions that make windows, as in FROM TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '1' MINUTE)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from millstream.windows.contract import Window
from millstream.windows.cumulate import Cumulate
from millstream.windows.session import Session
from millstream.windows.sliding import Sliding
from millstream.windows.tumbling import tumbling

Lengths = Mapping[str, int]
"""The arguments that are lengths of time, in microseconds, by their names."""


@dataclass(frozen=True)
class WindowFunction:
    """A function of a relation (DATA) and its time stamp (TIMECOL); what follows them can be given by name, too.

    `needed` are the lengths that must be given, `optional` is the last argument: OFFSET, a length, or KEY, the columns
    whose values have windows of their own. `example` shows the lengths.
    """

    needed: tuple[str, ...]
    optional: str
    example: str
    window: Callable[[Lengths], Window[Any]]

    @property
    def arguments(self) -> tuple[str, ...]:
        """All arguments in their order."""
        return ("DATA", "TIMECOL", *self.needed, self.optional)


WINDOW_FUNCTIONS: Mapping[str, WindowFunction] = {
    "TUMBLE": WindowFunction(
        ("SIZE",), "OFFSET", "INTERVAL '1' MINUTE", lambda given: tumbling(given["SIZE"], given.get("OFFSET", 0))
    ),
    "HOP": WindowFunction(
        ("SLIDE", "SIZE"),
        "OFFSET",
        "INTERVAL '1' MINUTE, INTERVAL '10' MINUTES",
        lambda given: Sliding(given["SIZE"], given["SLIDE"], given.get("OFFSET", 0)),
    ),
    "CUMULATE": WindowFunction(
        ("STEP", "SIZE"),
        "OFFSET",
        "INTERVAL '1' MINUTE, INTERVAL '1' HOUR",
        lambda given: Cumulate(given["STEP"], given["SIZE"], given.get("OFFSET", 0)),
    ),
    "SESSION": WindowFunction(("SIZE",), "KEY", "INTERVAL '10' MINUTES", lambda given: Session(given["SIZE"])),
}
