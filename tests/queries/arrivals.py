"""How the rows of a stream arrive: in which order, in which files, and of which kind these are."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from tests.queries.inputs import Input


@dataclass(frozen=True)
class Arrival:
    """In so many files, each of which is a batch; in the order that they have in the case, or with a seed in another.

    One order differs from another as far as the slack allows. Rows of one time stamp stay in their order.
    """

    files: int = 1
    seed: int | None = None
    parquet: bool = False

    def declare(self, one: Input, as_table: bool = False) -> str:
        """The statement that makes the input known to a mill; a stream, too, can be read as a table."""
        if one.is_stream and not as_table:
            source = f"{self._format(one)}:{one.name}"
            return f"CREATE STREAM {one.declaration} SOURCE '{source}' OPTIONS (max_files_per_batch = 1)"
        return f"CREATE TABLE {one.name} ({one.statement.schema}) SOURCE '{one.format}:{one.name}'"

    def write(self, one: Input, folder: Path) -> list[Path]:
        """Make the files of an input, hidden from readers; the order is that in which they are to appear."""
        place = folder / one.name
        place.mkdir(parents=True)
        if not one.is_stream:
            return [_write_rows(one, list(range(len(one.rows))), place / f".0.{one.format}")]
        made = []
        order = self.order(one)
        for number, part in enumerate(self._parts(one)):
            file = place / f".{number}.{self._format(one)}"
            if self._format(one) == "parquet":
                pq.write_table(one.table.take(order[part]), file)
            else:
                _write_rows(one, order[part], file)
            os.utime(file, (1e9 + number, 1e9 + number))  # Spark takes files by age
            made.append(file)
        return made

    def batches(self, streams: Sequence[Input]) -> int:
        """How many batches a query over some streams has at least."""
        return max(len(self._parts(one)) for one in streams)

    def _format(self, one: Input) -> str:
        return "parquet" if self.parquet else one.format

    def order(self, one: Input) -> list[int]:
        """The rows in the order in which they arrive."""
        rows = range(len(one.rows))
        if self.seed is None:
            return list(rows)
        if not any(one.times):
            raise ValueError(f"the rows of {one.name} have no time stamps to shuffle by: write skip shuffled: REASON")
        chance = random.Random(f"{one.name} {self.seed}")
        delays = {time: one.slack * chance.random() for time in sorted({t for t in one.times if t is not None})}
        first = min(delays)
        arrived, last = [], first
        for row, time in enumerate(one.times):
            last = last if time is None else time + delays[time]
            arrived.append((last, row))
        return [row for _, row in sorted(arrived)]

    def _parts(self, one: Input) -> list[slice]:
        """The rows of each file: cut where the case says it, or evenly."""
        count = len(one.rows)
        if self.files == 1:
            cuts = []
        elif one.breaks and self.seed is None:
            cuts = list(one.breaks)
        else:
            cuts = [number * count // self.files for number in range(1, self.files)]
        return [slice(begin, end) for begin, end in zip([0, *cuts], [*cuts, count], strict=True)]


def appear(files: list[Path]) -> None:
    """Let hidden files be seen, in their order."""
    for file in files:
        file.rename(file.with_name(file.name[1:]))


def _write_rows(one: Input, rows: list[int], file: Path) -> Path:
    file.write_text(one.head + "".join(f"{one.rows[row]}\n" for row in rows), encoding="utf-8")
    return file
