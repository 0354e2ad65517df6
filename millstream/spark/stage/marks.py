"""Marks: rows among the tuples of a frame that carry progress.

Of a tuple that a WHERE left out, the time stamp goes on in the column LEFT_OUT. A mark is a row whose column MARK is
not NULL. It comes from

- punctuation in the data: `{"time": us, "columns": [...]}`, with the columns that name its group;
- a bucket of a stage: `{"origin": bucket, "promises": {column: us}, "late": [n], "rejected": [n], "heard": [bool],
  "passed": [us], "newest": [us], "final": bool, "waits": us, "work": {bucket: n}, "tuples": [n], "micros": [n],
  "bytes": n, "out": n, "state": n}`: late tuples and those whose time stamps are out of bounds are counted for each
  input of the stage, "heard" are the inputs that have brought tuples, "passed" is how far they have come and "newest"
  their newest time stamp, "waits" the time that must come before more is answered, and "work" what the bucket has
  done, packed into one number. "tuples" have been exchanged for each input after so many "micros" of work, "bytes" of
  packets have come of all, "out" rows were answered, and "state" is the bytes that the bucket now keeps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.operators.window_aggregate_job import ARRIVAL
from millstream.spark.stage.arrival_order import FILE, ROW, TASK

MARK = "__mark"
AT = "__at"
"""The time stamp of a tuple of a source, in microseconds, whatever becomes of its columns."""

LEFT_OUT = "__left_out"
"""The time stamp of a tuple that did not pass a WHERE; NULL for those that did."""

HIDDEN = (MARK, AT, LEFT_OUT, FILE, TASK, ROW, ARRIVAL)


Punctuated = tuple[int, int, tuple[str, ...]]
"""Punctuation in the data: its row, its time, and the columns that are not NULL."""


@dataclass(frozen=True)
class Marks:
    """What the marks among some rows say."""

    origins: tuple[tuple[int, Mapping[str, Any]], ...] = ()
    punctuation: tuple[Punctuated, ...] = ()


def stage_mark(
    origin: int,
    promises: Mapping[str, int],
    of_inputs: Mapping[str, Sequence[int | None]],
    *,
    final: bool,
    waits: int | None,
    work: int,
    sizes: Mapping[str, int],
) -> str:
    """The mark of a bucket of a stage, about a batch: `of_inputs` has a number for each input, `sizes` one in all."""
    said = {"origin": origin, "promises": dict(promises), **of_inputs, "final": final, "waits": waits}
    return json.dumps({**said, "work": {origin: work}, **sizes})


def part(rows: pa.Table) -> tuple[pa.Table, pa.Table | None, pa.ChunkedArray | None]:
    """The tuples, the marks if there are any, and the time stamps of the tuples that were left out, if any were."""
    left_out, said = None, None
    if LEFT_OUT in rows.column_names:
        if rows[LEFT_OUT].null_count < rows.num_rows:
            left_out = rows[LEFT_OUT]
            rows = rows.filter(pc.is_null(left_out))
        rows = rows.drop_columns([LEFT_OUT])
    if MARK in rows.column_names:
        is_mark = pc.is_valid(rows[MARK])
        if pc.any(is_mark).as_py():
            said = rows.filter(is_mark)
            rows = rows.filter(pc.invert(is_mark))
        rows = rows.drop_columns([MARK])
    return rows, said, left_out


def read(marks: pa.Table) -> Marks:
    """What they say."""
    origins = []
    punctuation = []
    for row, text in enumerate(marks[MARK].to_pylist()):
        said = json.loads(text)
        if "origin" in said:
            origins.append((int(said["origin"]), said))
        else:
            punctuation.append((row, int(said["time"]), tuple(said.get("columns") or ())))
    return Marks(tuple(origins), tuple(punctuation))
