"""Promises of one side of a window join for some keys, which free tuples of the other side."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.operators.blobs import Blobs
from millstream.operators.group_promises import GroupPromises, marks_of
from millstream.operators.join.keys import Bools, Numbers, plain_key
from millstream.operators.join.slice import Slice, take_all
from millstream.operators.join.window_join_job import WindowJoinJob
from millstream.operators.window_aggregate_job import TIME
from millstream.progress.group_table import Group, by_names, group_of
from millstream.windows.reach import LEAST


class JoinPromises:
    """The promises of a port that are ahead of its low-watermark, with the values of keys made plain as those are.

    A tuple of the other port is *freed* if all its partners would be before what is promised for its keys: none of them
    can come any more.
    """

    def __init__(self, job: WindowJoinJob, port: int, blobs: Blobs) -> None:
        self._job = job
        self._other = 1 - port
        self._types = dict(zip(job.key_names, job.key_types, strict=False))
        plain = {name: plain_key(pa.array([], type_)).type for name, type_ in self._types.items()}
        self._promises = GroupPromises(plain, blobs, f"{port}/promises")
        self._fresh: dict[Group, int] = {}

    def __bool__(self) -> bool:
        return bool(self._promises.until)

    def add(self, group: Group, until: int) -> None:
        """Take note of a promise. Some cannot be used: no tuple with a NULL among its keys has partners."""
        if all(name in self._types and value is not None for name, value in group):
            values = {name: plain_key(pa.array([value], self._types[name]))[0].as_py() for name, value in group}
            plain = group_of(values.items())
            if self._promises.add(plain, until):
                self._fresh[plain] = until

    def end_batch(self, low_watermark: int | None) -> None:
        """Forget what the whole side has made good on, and keep the rest."""
        self._fresh = {}
        if low_watermark is not None:
            self._promises.pass_by(low_watermark)
        self._promises.save()

    # -- tuples --------------------------------------------------------------------------------------------

    def broken_by(self, table: pa.Table) -> Bools:
        """Which tuples of this port, as they come, should not have come any more."""
        broken = np.zeros(table.num_rows, dtype=np.bool_)
        for names, until in by_names(self._promises.until).items():
            rows = np.flatnonzero(reduce(pc.and_, (table[name].is_valid() for name in (TIME, *names))))
            some = table.select([TIME, *names]).take(pa.array(rows))
            keys = pa.table({name: plain_key(some[name].combine_chunks()) for name in names})
            marks = marks_of(until, self._promises.types, keys, LEAST)
            broken[rows] |= some[TIME].to_numpy() < marks
        return broken

    def freed(self, slice_: Slice) -> Numbers:
        """The positions of the tuples of the other port in a slice that are freed."""
        return self._freed(slice_, self._promises.until)

    def newly_freed(self, slice_: Slice) -> Numbers:
        """The same, by the promises that this batch has brought."""
        return self._freed(slice_, self._fresh)

    def _freed(self, slice_: Slice, until: dict[Group, int]) -> Numbers:
        reach = self._job.reach
        cuts = {group: reach.oldest(self._other, time) for group, time in until.items()}
        known = {group: cut for group, cut in cuts.items() if cut is not None and cut > slice_.oldest}
        if not known:
            return np.empty(0, dtype=np.int64)
        # Keys are looked up once for all tuples that have them, where it is sure that a group has one key only.
        at = slice_.starts[:-1] if slice_.clean else np.arange(len(slice_))
        keys = pa.Table.from_arrays(take_all(slice_.keys, at), names=self._job.key_names)
        marks = marks_of(known, self._promises.types, keys, LEAST)
        return np.flatnonzero(slice_.times < (marks[slice_.groups] if slice_.clean else marks))
