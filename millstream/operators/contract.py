"""What an operator is to the one who hosts it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from millstream.progress.punctuation import Punctuation


class Operator(Protocol):
    """Takes tables and punctuation, gives tables; its state is in the blobs it was made with."""

    def process(self, table: pa.Table) -> int:
        """Take in some rows; says how many tuples were late."""
        ...

    def punctuate(self, punctuation: Punctuation) -> Iterator[pa.Table]:
        """What can be answered now."""
        ...
