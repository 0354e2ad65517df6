"""What the NEXMark suite is to an engine: queries that it is given one after the other, in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol


class Suite(Protocol):
    """The suite in the hands of one engine, in a process of its own."""

    def run(self, query: str) -> float:
        """Do one query over all events, from nothing, and say how many seconds it took.

        Names with commas between them are queries that run at once, if the engine can.
        """
        ...

    def keep(self, query: str, folder: Path) -> dict[str, float]:
        """The same once more, untimed; the rows are kept in a new folder, or, if there are sums, these are enough."""
        ...

    def notes(self) -> dict[str, Any]:
        """What a reader of the figures must know besides them."""
        ...

    def close(self) -> None:
        """Let go of the engine."""
        ...
