"""The base of operators that need tuples in order: it keeps them until punctuation covers them."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from millstream.operators.blobs import Blobs
from millstream.operators.codes import Numbers, dense_groups
from millstream.operators.contract import Operator
from millstream.operators.ordered.final_order import FinalOrder
from millstream.operators.tuples.tuple_log import Bools, TupleLog
from millstream.operators.window_aggregate_job import ARRIVAL, TIME
from millstream.progress.punctuation import Punctuation
from millstream.windows.tuples import Order

NUMBER = "__number"
"""The column of arrival numbers."""


class Ordered(Operator):
    """Keeps tuples until their order is final, hands them on in that order, and keeps those still needed.

    In the order "rank" that is when the punctuation has passed their time; tuples of one time follow the numbers by
    which they arrived, if they bear such, and then their values, so that nothing depends on how they come here. In the
    order "row" they are settled with the next punctuation, as they come, and time plays no part.
    """

    def __init__(self, partition: Sequence[str], blobs: Blobs, order: Order) -> None:
        self._names = list(partition)
        self._blobs = blobs
        self._order = order
        self._log = TupleLog(blobs, "log/")
        record = json.loads(blobs.get("progress") or b"{}")
        self.low_watermark: int | None = record.get("low_watermark")
        self._settled: int | None = record.get("settled")
        self._arrived: int = record.get("arrived", 0)
        self._arranged: int = record.get("arranged", 0)

    @abstractmethod
    def _settle(self, arranged: FinalOrder, until: int) -> tuple[list[pa.Table], Bools]:
        """The answers of the new tuples, and which tuples are needed for those to come, which rank from `until` on."""

    @property
    def promise(self) -> int | None:
        """The low-watermark."""
        return self.low_watermark

    @property
    def waits(self) -> int | None:
        """The moment after the oldest tuple that is not settled; those in the order of arrival settle by themselves."""
        log = self._log.table
        if log is None or self._order == "row":
            return None
        times = log[TIME].to_numpy()
        waiting = times if self._settled is None else times[times >= self._settled]
        return int(waiting.min()) + 1 if len(waiting) else None

    def process(self, table: pa.Table, port: int = 0) -> int:
        """Put tuples into the log; says how many are late. Those without a time belong nowhere."""
        table = table.filter(pc.is_valid(table[TIME]))
        late = 0
        if self._order == "rank" and self.low_watermark is not None:
            known = table.num_rows
            table = table.filter(pc.greater_equal(table[TIME], self.low_watermark))
            late = known - table.num_rows
        if table.num_rows:
            self._log.append(self._stamped(table))
        return late

    def punctuate(self, punctuation: Punctuation) -> Iterator[pa.Table]:
        """The answers of the tuples that are settled now. A punctuation of one group settles nothing."""
        if punctuation.group:
            return
        log = self._log.table
        ranked_by = None if log is None else self._ranked_by(log)
        until = self._reach(punctuation, ranked_by)
        answers: list[pa.Table] = []
        if until is not None and (self._settled is None or until > self._settled):
            if log is not None and ranked_by is not None and self._concerns(ranked_by, until):
                known = ranked_by < until
                arranged = self._arrange(log if known.all() else log.filter(pa.array(known)), self._settled)
                answers, needed = self._settle(arranged, until)
                self._arranged += len(arranged.order)
                dropped = np.zeros(len(known), dtype=np.bool_)
                dropped[np.flatnonzero(known)[arranged.order]] = ~needed
                self._log.keep(~dropped)
            self._settled = until
        self._save()
        yield from answers

    def _horizon(self, until: int) -> int | None:
        """The time from which on tuples are needed by those that rank from `until` on; None if time does not say."""
        return None

    def _concerns(self, ranked_by: Numbers, until: int) -> bool:
        """Whether there are tuples to settle, or such that may be dropped."""
        new = ranked_by < until
        if self._settled is not None:
            new &= ranked_by >= self._settled
        horizon = self._horizon(until)
        return bool(new.any() or (horizon is not None and (ranked_by < horizon).any()))

    def _bound(self, time: int) -> int:
        """The rank below which tuples can be settled once the low-watermark is at a time."""
        return time

    def _stamped(self, table: pa.Table) -> pa.Table:
        if self._order == "rank":
            return table
        numbers = np.arange(self._arrived, self._arrived + table.num_rows)
        self._arrived += table.num_rows
        self._save()
        return table.append_column(NUMBER, pa.array(numbers))

    def _ranked_by(self, table: pa.Table) -> Numbers:
        ranks: Numbers = table[TIME if self._order == "rank" else NUMBER].to_numpy()
        return ranks

    def _reach(self, punctuation: Punctuation, ranked_by: Numbers | None) -> int | None:
        """How far tuples are settled; the low-watermark moves. The end of a stream settles all that is known."""
        time: int | None = None if punctuation.final else punctuation.time
        until = None if time is None else self._bound(time)
        if punctuation.final and self._order == "rank" and ranked_by is not None and len(ranked_by):
            time = until = int(ranked_by.max()) + 1
        if time is not None and (self.low_watermark is None or time > self.low_watermark):
            self.low_watermark = time
        return until if self._order == "rank" else self._arrived

    def _save(self) -> None:
        counts = {"arrived": self._arrived, "arranged": self._arranged}
        record = {"low_watermark": self.low_watermark, "settled": self._settled, **counts}
        self._blobs.put("progress", json.dumps(record).encode())

    def _arrange(self, table: pa.Table, settled: int | None) -> FinalOrder:
        columns = [table[name] for name in self._names]
        # 0.0 and -0.0 are one key.
        columns = [pc.add(c, pa.scalar(0.0, c.type)) if pa.types.is_floating(c.type) else c for c in columns]
        partition, _ = dense_groups(columns, table.num_rows)
        ranked_by = self._ranked_by(table)
        keys = [partition, ranked_by]
        if self._order == "rank" and ARRIVAL in table.column_names:
            keys.append(table[ARRIVAL].to_numpy())
        order = np.lexsort(tuple(reversed(keys)))
        if self._order == "rank":
            order = _by_values(table, order, keys)
        partition, ranked_by = partition[order], ranked_by[order]
        new = np.ones(len(order), dtype=np.bool_) if settled is None else ranked_by >= settled
        return FinalOrder(table, order, partition, table[TIME].to_numpy()[order], ranked_by, new, self._arranged)


def _by_values(table: pa.Table, order: Numbers, keys: Sequence[Numbers]) -> Numbers:
    """The order with tuples whose keys are equal in the order of their values, column by column, NULL first."""
    begins = np.append(True, np.any([np.diff(key[order]) != 0 for key in keys], axis=0))
    tied = np.flatnonzero(~begins | ~np.append(begins[1:], True))
    if not len(tied):
        return order
    frame = pl.from_arrow(table.take(pa.array(order[tied])))
    assert isinstance(frame, pl.DataFrame)  # noqa: S101  (a table is never a series)
    groups = pl.Series("__tie", np.cumsum(begins)[tied])
    names = frame.columns
    ranked = frame.with_columns(groups, pl.Series("__place", order[tied])).sort(["__tie", *names], maintain_order=True)
    order = order.copy()
    order[tied] = ranked["__place"].to_numpy()
    return order
