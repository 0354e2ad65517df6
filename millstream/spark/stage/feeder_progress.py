"""How far a query has come that feeds a stream: what is among its rows is the same that comes to a stage.

It is known without a stage, as the rows of a batch come together where they are put into the stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.catalog.ahead import EARLIEST
from millstream.progress.low_watermark import LowWatermark
from millstream.progress.meld import Meld
from millstream.spark.stage import marks
from millstream.spark.stage.control_words import END, TICK, WAIT, read_enabling
from millstream.spark.stage.marks import AT, LEFT_OUT, MARK
from millstream.spark.stage.time_limits import TimeLimits

PART, WORD, TIME = "__part", "__word", "__time"
"""Beside what a query answers: the number of the input that a row is of, a word of the control stream, and the time
stamp that a row will have in the stream, in microseconds."""

BESIDE = (MARK, AT, LEFT_OUT, PART, WORD, TIME)


@dataclass(frozen=True)
class Part:
    """One of the inputs whose rows a query puts together, and what tells of its progress.

    That is the slack of the `stream` that it comes straight from, and punctuation there; or what the buckets of a stage
    promise; or, `by_rows`, nothing but the time stamps that its rows have in the stream that is fed, less that slack.
    `limits` say which time stamps may move time.
    """

    stream: str | None = None
    slack: int | None = None
    origins: int = 0
    promised: str | None = None
    by_rows: bool = False
    limits: TimeLimits = field(default_factory=TimeLimits)

    @property
    def substance(self) -> list[Any]:
        """What must be the same for what was known of it to hold on."""
        return [self.stream, self.slack, self.origins, self.promised, self.by_rows]


class FeederProgress:
    """The progress of the inputs of a query that feeds a stream."""

    def __init__(self, parts: Sequence[Part], state: Any = None) -> None:
        self._parts = parts
        self._watermarks = [LowWatermark(None if part.origins else part.slack, part.origins) for part in parts]
        self._meld = Meld(self._watermarks)
        if state is not None and state["parts"] == [part.substance for part in parts]:
            for watermark, known in zip(self._watermarks, state["known"], strict=True):
                watermark.restore(known)

    @property
    def state(self) -> Any:
        """What must be remembered, as JSON can hold it."""
        return {
            "parts": [part.substance for part in self._parts],
            "known": [watermark.record for watermark in self._watermarks],
        }

    @property
    def promise(self) -> int | None:
        """Rows stamped before that are not expected any more; None as long as nothing is known of an input."""
        until = min((part.limits.until() for part in self._parts), default=None)
        return None if self._meld.time is None or until is None else min(self._meld.time, until)

    def take(self, rows: pa.Table) -> pa.Table:
        """Take note of what is said among the rows of a batch, and give the tuples."""
        for word in pc.unique(rows[WORD].drop_null()).to_pylist():
            self._control(word)
        for number, part in enumerate(self._parts):
            mine = rows.filter(pc.equal(rows[PART], number))
            if mine.num_rows:
                self._of_part(part, self._watermarks[number], mine)
        is_tuple = pc.and_(pc.is_valid(rows[PART]), pc.and_(pc.is_null(rows[MARK]), pc.is_null(rows[LEFT_OUT])))
        return rows.filter(is_tuple).drop_columns(list(BESIDE))

    def _control(self, word: str) -> None:
        if word in {END, WAIT, TICK}:
            return
        stream, time = read_enabling(word)
        for part, watermark in zip(self._parts, self._watermarks, strict=True):
            if part.stream == stream and not part.by_rows:
                watermark.promised(time)

    def _of_part(self, part: Part, watermark: LowWatermark, rows: pa.Table) -> None:
        spoken = pc.is_valid(rows[MARK])
        tuples = rows.filter(pc.invert(spoken))
        if part.by_rows:
            seen = part.limits.judge(tuples.filter(pc.is_null(tuples[LEFT_OUT]))[TIME])
            watermark.saw(seen.oldest, seen.newest)
            return
        if not part.origins:
            seen = part.limits.judge(tuples[AT])
            watermark.saw(seen.oldest, seen.newest)
        said = marks.read(rows.filter(spoken))
        for origin, mark in said.origins:
            if part.promised in mark["promises"]:
                watermark.promised(int(mark["promises"][part.promised]), origin)
        until = part.limits.until()
        for _, time, columns in said.punctuation:
            if not columns and EARLIEST <= time <= until:  # a promise to a group says nothing of the others
                watermark.promised(time)
