"""How much memory a process takes together with its children, at most."""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType
from typing import Self

import psutil

SAMPLE_SECONDS = 0.1


def family(process: psutil.Process) -> list[psutil.Process]:
    """A process and all that come of it; none if it has ended."""
    try:
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def taken_bytes(process: psutil.Process) -> int:
    """The memory of a process and of all that come of it."""
    taken = 0
    for one in family(process):
        with contextlib.suppress(psutil.Error):
            taken += one.memory_info().rss
    return taken


class PeakMemory:
    """Watches this process and its children for a block."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._watch.join()

    def _sample(self) -> None:
        own = psutil.Process()
        while not self._over.wait(SAMPLE_SECONDS):
            self.peak_bytes = max(self.peak_bytes, taken_bytes(own))
