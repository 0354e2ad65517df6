"""The contract of an operator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar

import pyarrow as pa

from millstream.progress.punctuation import Punctuation


class Operator(ABC):
    """Takes tables and punctuation, gives tables; its state is in the blobs it was made with.

    In a batch the host first gives it all the data and then all the punctuation, so that an answer comes in the batch
    that carries the punctuation. After that the host writes the blobs.
    """

    format: ClassVar[int] = 1
    """The version of its blobs: who writes them otherwise raises it, and checkpoints with the old ones are refused."""

    @abstractmethod
    def process(self, table: pa.Table, port: int = 0) -> int:
        """Take in some rows of an input; says how many tuples were late.

        `port` is the number of the input: a join has two, all others have one.
        """

    def note_busy_places(self, places: pa.Array) -> None:
        """Take note of where tuples came in all buckets: only landmark windows ask for that (see Inlet)."""
        raise TypeError(f"{type(self).__name__} does not ask where tuples came")

    @abstractmethod
    def punctuate(self, punctuation: Punctuation) -> Iterator[pa.Table]:
        """What can be answered now."""

    @property
    @abstractmethod
    def promise(self) -> int | None:
        """The time before which no answer that is still to come is stamped; None if nothing can be said yet."""

    @property
    def promises(self) -> Mapping[str, int]:
        """Promises of the same kind about single columns of the answers, by their names: only joins have them."""
        return {}

    @property
    def waits(self) -> int | None:
        """The time that the low-watermark must reach before anything more is answered; None if nothing is held back.

        By this a silent input is found to be in the way.
        """
        return None

    def tick(self) -> Iterator[pa.Table]:
        """What is to be answered because the wall clock has moved on: only EMIT EVERY ... WALL asks for that."""
        return iter(())

    def end_batch(self) -> Iterator[pa.Table]:
        """What is to be answered because a batch is over: EMIT EVERY ... ROWS and ON CHANGE ask for that.

        It is always called, also for those who have nothing to answer but something to put into their blobs.
        """
        return iter(())
