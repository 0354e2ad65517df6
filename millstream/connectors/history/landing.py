"""Landing: the rows of a task into files of a log; what comes back says what is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.formats.rejection import Explainer
from millstream.history.log import ORIGIN, RAW, REASON, Part
from millstream.history.segments import SEGMENT_ROWS, SegmentWriter
from millstream.progress.promise_mark import MARK
from millstream.spark.stage.arrival_order import FILE, plain_path, task_number
from millstream.spark.stage.garbage_collector import freeze_imported_modules

TIME = "__time"
"""The time stamp of a tuple in microseconds, if the stream has such."""

PARTS = (
    "time BIGINT, path STRING, block BIGINT, task BIGINT, number BIGINT, file STRING, skip BIGINT, rows BIGINT, "
    "tuples BIGINT, rejected BIGINT, bytes BIGINT, oldest BIGINT, newest BIGINT"
)
"""The fields of Part, in Spark's words."""

_SCHEMA = pa.schema(
    [
        pa.field(name, pa.string() if name in {"path", "file"} else pa.int64())
        for name in (word.split()[0] for word in PARTS.split(", "))
    ]
)

Stretch = tuple[tuple[int, str, int], int, int]
"""Where in the input rows come from, and from where to where they go."""

Arrow = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Landing:
    """How rows are landed: the folder, the columns that the stream delivers, and who says why rows are rejected.

    `stamp` is the column that is stamped on arrival, if there is one.
    """

    folder: Path
    columns: tuple[str, ...]
    explainer: Explainer
    stamp: str | None = None

    def at(self, moment: int) -> Arrow:
        """A function for mapInArrow that lands rows, stamped with a moment in microseconds, and gives PARTS."""

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            told = self.explainer.begin()
            files = _Files(self.folder)
            for batch in batches:
                rows, reasons = told(batch)
                if rows.num_rows:
                    files.add(self._land_rows(rows, reasons, moment), _stretches(rows), self._times(rows, moment))
            parts = files.parts()
            yield pa.RecordBatch.from_pylist([part._asdict() for part in parts], schema=_SCHEMA)
            freeze_imported_modules()

        return run

    def _times(self, rows: pa.RecordBatch, moment: int) -> pa.Array:
        return rows.column(TIME) if self.stamp is None else pa.array(np.full(rows.num_rows, moment))

    def _land_rows(self, rows: pa.RecordBatch, reasons: pa.RecordBatch, moment: int) -> pa.RecordBatch:
        columns = [rows.column(name) for name in self.columns]
        names = list(self.columns)
        if self.stamp is not None:
            stamps = pa.array(np.full(rows.num_rows, moment), pa.timestamp("us", tz="UTC"))
            columns, names = [*columns, stamps], [*names, self.stamp]
        place = _places(rows.column("wrong"))
        said = [reasons.column(name).take(place) for name in ("raw", "reason", "origin")]
        # A file that is bad as a whole has a reason, and no text.
        marks = rows.column(MARK) if MARK in rows.schema.names else pa.nulls(rows.num_rows, pa.string())
        return pa.RecordBatch.from_arrays([*columns, *said, marks], names=[*names, RAW, REASON, ORIGIN, MARK])


def _places(wrong: pa.Array) -> pa.Array:
    """Of each row its place among those that are wrong, NULL of the others.

    >>> _places(pa.array([True, False, True])).to_pylist()
    [0, None, 1]
    """
    flags = wrong.to_numpy(zero_copy_only=False)
    return pa.array(np.cumsum(flags) - 1, pa.int64(), mask=~flags)


class _Files:
    """The files that a task writes, and the stretches of the input that stand in them one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: SegmentWriter | None = None
        self._open: list[Part] = []
        self._parts: list[Part] = []
        self._task = task_number()
        self._number = 0

    def add(
        self, rows: pa.RecordBatch, stretches: list[tuple[tuple[int, str, int], int, int]], times: pa.Array
    ) -> None:
        """Add rows; each stretch of them comes from one place of the input."""
        if self._writer is None:
            self._writer = SegmentWriter(self._folder, rows.schema)
        skip = self._writer.rows
        self._writer.add(rows)
        for place, begin, end in stretches:
            wrong = end - begin - rows.column(REASON).slice(begin, end - begin).null_count
            marks = end - begin - rows.column(MARK).slice(begin, end - begin).null_count
            good = pc.if_else(pc.is_null(rows.column(REASON)), times, None).slice(begin, end - begin)
            ends = pc.min_max(good).as_py()
            part = Part(
                *place,
                self._task,
                self._number,
                self._writer.name,
                skip + begin,
                end - begin,
                end - begin - wrong - marks,
                wrong,
                0,
                ends["min"],
                ends["max"],
            )
            self._number += 1
            self._open.append(part)
        if self._writer.rows >= SEGMENT_ROWS:
            self._seal()

    def parts(self) -> list[Part]:
        """What was written, all of it durable."""
        self._seal()
        return self._parts

    def _seal(self) -> None:
        if self._writer is not None:
            size, rows = self._writer.seal(), self._writer.rows
            self._parts += [part._replace(bytes=size * part.rows // rows) for part in self._open]
        self._writer, self._open = None, []


def _stretches(rows: pa.RecordBatch) -> list[Stretch]:
    """Where in the input rows come from, and from where to where each stretch of them goes."""
    if FILE not in rows.schema.names:
        return [((0, "", 0), 0, rows.num_rows)]
    time, path, block = rows.column(FILE).flatten()
    codes = path.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    blocks = block.to_numpy(zero_copy_only=False)
    changes = np.flatnonzero((codes[1:] != codes[:-1]) | (blocks[1:] != blocks[:-1])) + 1
    cuts = [0, *changes.tolist(), rows.num_rows]
    return [((time[a].as_py(), plain_path(path[a].as_py()), block[a].as_py()), a, b) for a, b in pairwise(cuts)]
