"""MERGE ORDERED: tuples of several streams in the order of their times."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.operators.blobs import Blobs
from millstream.operators.tuples.on_time import OnTime
from millstream.operators.tuples.tuple_log import Bools, TupleLog
from millstream.operators.window_aggregate_job import ARRIVAL, TIME
from millstream.progress.punctuation import Punctuation


class MergeOrdered(OnTime):
    """Holds tuples back until the low-watermark has passed them, and gives them in the order of their times.

    Tuples of one time are in the order of their arrival. Everything is done when a batch is over: its answers are one
    table in order, however many punctuations it has brought, and what can leave at once is never written.
    """

    def __init__(self, blobs: Blobs) -> None:
        super().__init__(blobs)
        self._log = TupleLog(blobs, "log/")
        self._ended = False

    @property
    def waits(self) -> int | None:
        """The moment after the oldest tuple that is held."""
        held = self._log.table
        return None if held is None or not held.num_rows else pc.min(held[TIME]).as_py() + 1

    def punctuate(self, punctuation: Punctuation) -> Iterator[pa.Table]:
        """Move the low-watermark; the end of a stream lets go of all that is held. The answers wait for the others."""
        if punctuation.final:
            self._ended = True
        elif not punctuation.group:
            self._move(punctuation.time)
        return iter(())

    def end_batch(self) -> Iterator[pa.Table]:
        """The tuples that the low-watermark has passed in this batch."""
        ready = [table for table in (self._leave(), self._arrive()) if table is not None and table.num_rows]
        ended, self._ended = self._ended, False
        if not ready:
            return
        answers = _in_order(pa.concat_tables(ready, promote_options="default"))
        if ended:
            # More may come after the end, and what is before the last that was given would break the order.
            self._move(answers[TIME][-1].as_py())
        yield answers.drop_columns([TIME])

    def _leave(self) -> pa.Table | None:
        """The tuples of earlier batches that need not wait any longer."""
        held = self._log.table
        if held is None or not held.num_rows:
            return None
        passed = self._passed(held)
        self._log.keep(~passed)
        return held.filter(pa.array(passed))

    def _arrive(self) -> pa.Table | None:
        """The tuples of this batch that need not wait; the others are put into the log."""
        if not self._fresh:
            return None
        fresh, self._fresh = pa.concat_tables(self._fresh, promote_options="default"), []
        passed = self._passed(fresh)
        self._log.append(fresh.filter(pa.array(~passed)))
        return fresh.filter(pa.array(passed))

    def _passed(self, table: pa.Table) -> Bools:
        if self._ended or self.low_watermark is None:
            return np.full(table.num_rows, self._ended, dtype=np.bool_)
        passed: Bools = table[TIME].to_numpy() < self.low_watermark
        return passed


def _in_order(table: pa.Table) -> pa.Table:
    """The tuples in the order of their times; those of one time as they arrived, or as they are if nobody knows."""
    times = table[TIME].to_numpy()
    if ARRIVAL in table.column_names:
        order = np.lexsort((table[ARRIVAL].to_numpy(), times))
        return table.combine_chunks().take(pa.array(order)).drop_columns([ARRIVAL])
    if (times[1:] >= times[:-1]).all():
        return table
    return table.combine_chunks().take(pa.array(np.argsort(times, kind="stable")))
