"""What an operator is to the one who hosts it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import pyarrow as pa

from millstream.progress.punctuation import Punctuation


class Operator(ABC):
    """Takes tables and punctuation, gives tables; its state is in the blobs it was made with.

    In a batch the host first gives it all the data and then all the punctuation, so that an answer comes in the batch
    that carries the punctuation. After that the host writes the blobs.
    """

    @abstractmethod
    def process(self, table: pa.Table) -> int:
        """Take in some rows; says how many tuples were late."""

    @abstractmethod
    def punctuate(self, punctuation: Punctuation) -> Iterator[pa.Table]:
        """What can be answered now."""

    @property
    @abstractmethod
    def promise(self) -> int | None:
        """The time before which no answer that is still to come is stamped; None if nothing can be said yet."""

    def tick(self) -> Iterator[pa.Table]:
        """What is to be answered because the wall clock has moved on: only EMIT EVERY ... WALL asks for that."""
        return iter(())

    def end_batch(self) -> Iterator[pa.Table]:
        """What is to be answered because a batch is over: EMIT EVERY ... ROWS and ON CHANGE ask for that.

        It is always called, also for those who have nothing to answer but something to put into their blobs.
        """
        return iter(())
