"""The rows and seconds of each bucket, to show skew."""

from __future__ import annotations

from dataclasses import dataclass

MILLIS = 24
"""Rows and milliseconds are packed into one number, as one metric for a bucket costs half of two. The low bits."""


@dataclass(frozen=True)
class BucketWork:
    """The rows that came to a bucket, and the seconds that it worked on them.

    >>> BucketWork.unpack(BucketWork(3, 0.25).packed)
    BucketWork(rows=3, seconds=0.25)
    """

    rows: int = 0
    seconds: float = 0.0

    @property
    def packed(self) -> int:
        """Both as one number."""
        return self.rows << MILLIS | min(round(1000 * self.seconds), (1 << MILLIS) - 1)

    @classmethod
    def unpack(cls, number: int) -> BucketWork:
        """What a number stands for."""
        return cls(number >> MILLIS, (number & (1 << MILLIS) - 1) / 1000)

    def __add__(self, other: BucketWork) -> BucketWork:
        return BucketWork(self.rows + other.rows, self.seconds + other.seconds)
