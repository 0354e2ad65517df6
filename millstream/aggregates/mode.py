"""mode(x): the most frequent value."""

from __future__ import annotations

import pyarrow as pa

from millstream.aggregates.codes import decode, objects, unseen
from millstream.aggregates.columns import Bools
from millstream.aggregates.contract import State
from millstream.aggregates.tally import Tally


class Mode(Tally):
    """The most frequent value; the smallest of them if there are several.

    >>> import numpy as np
    >>> mode = Mode([pa.int64()])
    >>> values = pa.array([9, 5, 9, 5, 7])
    >>> mode.finish(mode.reduce(mode.zero(2), np.zeros(5, dtype=int), [values], np.arange(5))).to_pylist()
    [5, None]
    """

    name = "mode"

    @property
    def result(self) -> pa.DataType:
        """The type of the argument."""
        return self.kind

    def finish(self, state: State) -> pa.Array:
        """The values with the highest counts."""
        tallies = state[0]
        best = unseen(self.kind, len(tallies), largest=False)
        valid: Bools = objects([bool(tally) for tally in tallies]).astype(bool)
        for i in valid.nonzero()[0]:
            highest = max(tallies[i].values())
            best[i] = min(code for code, count in tallies[i].items() if count == highest)
        return decode(best, valid, self.kind)
