"""How much history a stream keeps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from millstream.intervals import spoken

SIZES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
"""The units of a size, in bytes."""


@dataclass(frozen=True)
class Keep:
    """KEEP: rows of a length of time, so many bytes on disk, or all."""

    length: timedelta | None = None
    size: int | None = None

    def __str__(self) -> str:
        if self.length is not None:
            return spoken(self.length)
        return "all" if self.size is None else size_text(self.size)


def size_text(size: int) -> str:
    """A number of bytes in the largest unit that tells it.

    >>> size_text(3 << 20), size_text(1500), size_text(10 << 30)
    ('3 MB', '1.5 KB', '10 GB')
    """
    unit = next((name for name, bytes_ in reversed(SIZES.items()) if size >= bytes_), None)
    return f"{size} bytes" if unit is None else f"{size / SIZES[unit]:.1f}".removesuffix(".0") + f" {unit}"
