"""Sessions: fragments are kept as they come, and merged when their session has ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.aggregates.contract import take
from millstream.operators.answers import STAMP, answers
from millstream.operators.blobs import Blobs, from_bytes, to_bytes
from millstream.operators.codes import dense_groups
from millstream.operators.contract import Operator
from millstream.operators.ordered.session_partials import FIRST, LAST, session_of, session_partials
from millstream.operators.panes.states import Pane, pack, unpack
from millstream.operators.window_aggregate_job import TIME, WindowAggregateJob
from millstream.progress.punctuation import Punctuation

Numbers = npt.NDArray[np.int64]

TIDY_FROM = 512
"""A log of fewer fragments is not worth a clean-up."""


class _Stitched(NamedTuple):
    """Fragments as sessions: the session of each fragment, and the first and the last time of each session."""

    session: Numbers
    first: Numbers
    last: Numbers


class SessionWindows(Operator):
    """One bucket of an aggregate over sessions. State is a log of fragments, with a blob for each table that came.

    The log is written anew, with what belongs together merged, once it is twice as long as it needs to be.
    """

    def __init__(self, work: WindowAggregateJob, blobs: Blobs) -> None:
        self._work = work
        self._gap = session_of(work).gap
        self._blobs = blobs
        record = blobs.get("progress")
        self.low_watermark: int | None = json.loads(record)["low_watermark"] if record else None
        log = dict(blobs.scan("fragments/"))
        self._names = list(log)
        self._tables = [from_bytes(blob) for blob in log.values()]
        self._next = int(self._names[-1].removeprefix("fragments/")) + 1 if self._names else 0
        self._logged = sum(table.num_rows for table in self._tables)
        self._tidied = 0
        if self.low_watermark is not None:
            self._take_closed(self.low_watermark)  # they have been answered, only the log still has them

    @property
    def promise(self) -> int | None:
        """The low-watermark: sessions that end by it have been answered."""
        return self.low_watermark

    @property
    def waits(self) -> int | None:
        """The end of the session that would end first."""
        lasts = [pc.min(table[LAST]).as_py() for table in self._tables if table.num_rows]
        return min(lasts) + self._gap if lasts else None

    def process(self, table: pa.Table, port: int = 0) -> int:
        """Take in tuples, without those behind the low-watermark; says how many these are."""
        late = 0
        if self.low_watermark is not None:
            good = pc.fill_null(pc.greater_equal(table[TIME], self.low_watermark), True)
            late = table.num_rows - int(pc.sum(good).as_py() or 0)
            table = table.filter(good) if late else table
        fragments = session_partials(self._work, table)
        if fragments.num_rows:
            self._append(fragments)
        return late

    def punctuate(self, punctuation: Punctuation) -> Iterator[pa.Table]:
        """The answers of all sessions that have ended, those that ended first before the others."""
        if punctuation.group:
            return
        until = punctuation.time
        if punctuation.final:
            lasts = [pc.max(table[LAST]).as_py() for table in self._tables]
            until = max((until, *(last for last in lasts if last is not None))) + self._gap
        if self.low_watermark is not None and until <= self.low_watermark:
            return
        closed = self._take_closed(until)
        if closed is not None:
            keys, states, stitched = closed
            yield answers(
                self._work, keys, states, pa.array(stitched.first, STAMP), pa.array(stitched.last + self._gap, STAMP)
            )
        self.low_watermark = until
        self._blobs.put("progress", json.dumps({"low_watermark": until}).encode())
        self._tidy()

    # -- sessions ------------------------------------------------------------------------------------------

    def _take_closed(self, until: int) -> tuple[pa.Table, Pane, _Stitched] | None:
        """The groups of the sessions that have ended, which are forgotten: keys, states, and for each its session."""
        open_until = until - self._gap
        if not any(table.num_rows and pc.min(table[LAST]).as_py() <= open_until for table in self._tables):
            return None
        fragments = pa.concat_tables(self._tables).combine_chunks()
        stitched = self._stitch(fragments)
        ended = stitched.last[stitched.session] <= open_until
        if not ended.any():
            self._tables = [fragments]
            return None
        self._tables = [fragments.filter(pa.array(~ended))]
        at = np.flatnonzero(ended)
        at = at[np.argsort(stitched.last[stitched.session[at]], kind="stable")]
        return self._merge(fragments.take(pa.array(at)), stitched._replace(session=stitched.session[at]))

    def _stitch(self, fragments: pa.Table) -> _Stitched:
        """Which fragments are less than the gap apart, with others of their partition in between."""
        count = fragments.num_rows
        names = self._work.key_names[: self._work.partition]
        partitions, _ = dense_groups([fragments[name] for name in names], count)
        firsts, lasts = fragments[FIRST].to_numpy(), fragments[LAST].to_numpy()
        order = np.lexsort((firsts, partitions))
        partition, first = partitions[order], firsts[order]
        # How far the fragments so far reach: a running maximum that no later partition can take for its own.
        distinct, ranks = np.unique(lasts[order], return_inverse=True)
        reach = distinct[np.maximum.accumulate(partition * len(distinct) + ranks) % len(distinct)]
        opens = np.ones(count, dtype=np.bool_)
        opens[1:] = (np.diff(partition) != 0) | (first[1:] - reach[:-1] >= self._gap)
        session = np.empty(count, dtype=np.int64)
        session[order] = np.cumsum(opens) - 1
        return _Stitched(session, first[opens], reach[np.append(opens[1:], True)])

    def _merge(self, fragments: pa.Table, stitched: _Stitched) -> tuple[pa.Table, Pane, _Stitched]:
        """The fragments of each session and group merged into one, in the order in which these first appear."""
        keys = fragments.select(self._work.key_names)
        groups, firsts = dense_groups([*keys.columns, pa.array(stitched.session)], fragments.num_rows)
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        states = tuple(
            call.aggregate.merge_runs(take(state, order), starts)
            for call, state in zip(self._work.calls, unpack(self._work, fragments), strict=True)
        )
        session = stitched.session[firsts]
        found = _Stitched(session, stitched.first[session], stitched.last[session])
        return keys.take(pa.array(firsts)), states, found

    # -- the log -------------------------------------------------------------------------------------------

    def _append(self, fragments: pa.Table) -> None:
        name = f"fragments/{self._next:012d}"
        self._next += 1
        self._blobs.put(name, to_bytes(fragments))
        self._names.append(name)
        self._tables.append(fragments)
        self._logged += fragments.num_rows

    def _tidy(self) -> None:
        """Write the log anew if at least half of it has been answered, or if it has doubled since the last time."""
        live = sum(table.num_rows for table in self._tables)
        if live and self._logged <= 2 * min(live, self._tidied) + TIDY_FROM:
            return
        for name in self._names:
            self._blobs.delete(name)
        fragments = pa.concat_tables(self._tables).combine_chunks() if live else None
        self._names, self._tables, self._logged = [], [], 0
        if fragments is not None:
            keys, states, stitched = self._merge(fragments, self._stitch(fragments))
            data = {name: keys[name] for name in keys.column_names}
            data.update({FIRST: pa.array(stitched.first), LAST: pa.array(stitched.last)})
            packed = pack(self._work, states)
            data.update(zip(packed.column_names, packed.columns, strict=True))
            self._append(pa.table(data))
        self._tidied = self._logged
