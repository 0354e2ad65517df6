"""The order of arrival, for stages that need it: a number per tuple, the same in every bucket.

A task sees only a part of what arrives. It numbers its tuples by *runs*, pieces of the input that it reads from their
beginning on, and says what runs they are. Every bucket of a stage hears of all runs of a batch, so that each by itself
puts them in order, and gives the tuples of the stream the same numbers: those of files by the time and the name of the
file and by the place in it, others by the task that read them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.operators.codes import dense_groups
from millstream.operators.window_aggregate_job import ARRIVAL

FILE = "__file"
"""The file of a tuple that Spark reads: the time at which it was written, its name, and where the part of it begins."""

TASK, ROW = "__task", "__row"
"""The task that read a tuple and its number there, where something on the way to the stage may mix tuples up."""

FILE_SQL = (
    "struct(unix_millis(_metadata.file_modification_time) AS time, _metadata.file_path AS path, "
    f"_metadata.file_block_start AS block) AS {FILE}"
)

_FIELDS = {"time": pa.int64(), "path": pa.string(), "block": pa.int64()}
FILE_FIELD = pa.field(FILE, pa.struct(_FIELDS))
FILE_DDL = f"{FILE} STRUCT<time: BIGINT, path: STRING, block: BIGINT>"

ROW_BITS = 32
"""In the numbers of a packet: those of the rows in a run."""

SOURCE_BITS = 48
"""In the numbers of a stage: those of the tuples of a source. Above them is the number of the source in the query."""

Number = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]
"""Makes numbers of a stream out of those of a packet."""


@dataclass(frozen=True)
class Ordering:
    """How the tuples of an input come to their numbers: they bear them, or are `counted` from the runs of their source.

    `place` is that of the source in the query. `renumber` puts numbers into what is made of tuples before the shuffle.
    """

    counted: bool
    place: int = 0
    renumber: Callable[[pa.Table, Number], pa.Table] | None = None


Ints = npt.NDArray[np.int64]


Place = tuple[int, str, int, int, int]


class Run(NamedTuple):
    """A piece of the input: runs are in order as tuples are. `size` is how many numbers its rows have."""

    time: int
    path: str
    block: int
    task: int
    chunk: int
    size: int

    @property
    def place(self) -> Place:
        """What tells it apart, and says where it comes."""
        return self[:5]


Runs = tuple[Run, ...]


def number_rows(rows: pa.Table, task: int, chunk: int) -> tuple[pa.Table, Runs]:
    """The rows of a chunk with the numbers by which they arrived in place of what says so, and their runs.

    >>> rows, runs = number_rows(pa.table({"x": [7, 8]}), task=3, chunk=0)
    >>> rows[ARRIVAL].to_pylist(), runs[0].place, runs[0].size
    ([0, 1], (0, '', 0, 3, 0), 2)
    """
    size = rows.num_rows
    nothing = pa.array(np.zeros(size, dtype=np.int64))
    time, path, block, tasks = nothing, pa.nulls(size, pa.string()), nothing, pa.array(np.full(size, task))
    keys = []
    if FILE in rows.column_names and size:
        time, path, block = rows[FILE].combine_chunks().flatten()
        keys += [path, block]
    if mixed := ROW in rows.column_names:
        tasks = rows[TASK].combine_chunks()
        keys.append(tasks)
    groups, firsts = dense_groups(keys, size)
    places = rows[ROW].to_numpy() if mixed else np.arange(size) - firsts[groups]
    sizes = np.zeros(len(firsts), dtype=np.int64)
    np.maximum.at(sizes, groups, places + 1)
    begins = [column.take(pa.array(firsts)).to_pylist() for column in (time, path, block, tasks)]
    found = zip(*begins, sizes.tolist(), strict=True)
    runs = [Run(t, plain_path(p or ""), b, of, 0 if mixed else chunk, n) for t, p, b, of, n in found]
    # In order, so that the numbers of a packet are in the order of those of the stream.
    order = sorted(range(len(runs)), key=lambda nth: runs[nth].place)
    groups = np.argsort(np.array(order, dtype=np.int64))[groups]
    rows = rows.drop_columns([name for name in (FILE, TASK, ROW) if name in rows.column_names])
    return rows.append_column(ARRIVAL, pa.array((groups << ROW_BITS) + places, pa.int64())), tuple(
        runs[nth] for nth in order
    )


def in_run(rows: pa.Table, run: int) -> pa.Table:
    """The rows of one run, with their numbers in a packet."""
    return rows.append_column(ARRIVAL, pa.array((run << ROW_BITS) + np.arange(rows.num_rows)))


def plain_path(path: str) -> str:
    """A path in one form, whoever tells it.

    >>> plain_path("file:///in/a%20b.csv")
    '/in/a b.csv'
    """
    return unquote("/" + path.removeprefix("file:").lstrip("/")) if path.startswith("file:") else path


def numbering_rows() -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow that adds TASK and ROW."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, seen = task_number(), 0
        for batch in batches:
            rows = np.arange(seen, seen + batch.num_rows)
            seen += batch.num_rows
            tasks = pa.array(np.full(batch.num_rows, task), pa.int64())
            yield pa.RecordBatch.from_arrays([*batch.columns, tasks, pa.array(rows)], [*batch.schema.names, TASK, ROW])

    return run


def task_number() -> int:
    """The number of the task that this process runs: those that read a log read it in this order."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def pack_runs(runs: Runs) -> bytes:
    """Runs, to travel with a packet."""
    return json.dumps(runs).encode()


def unpack_runs(said: bytes) -> Runs:
    """What was packed."""
    return tuple(Run(*run) for run in json.loads(said))


def in_order(
    order: Ordering, feed: int, packets: Sequence[tuple[pa.Table, Runs]], used: dict[str, int]
) -> Iterator[pa.Table]:
    """What the packets of a batch hold, with the numbers of the stream; tuples come together, as they arrived.

    `used` says how many numbers each input has used.
    """
    tables = [table for table, _ in packets]
    if order.counted:
        numbers, used[str(feed)] = _numbers(order.place, [runs for _, runs in packets], used.get(str(feed), 0))
        if order.renumber is not None:
            yield from (order.renumber(table, number) for table, number in zip(tables, numbers, strict=True))
            return
        tables = [_number_tuples(table, number) for table, number in zip(tables, numbers, strict=True)]
    yield _by_arrival(tables)


def _numbers(place: int, packets: Sequence[Runs], used: int) -> tuple[list[Number], int]:
    """For each packet of an input what makes numbers of the stream out of its own, and how many there are then."""
    sizes: dict[Place, int] = {}
    for run in (run for runs in packets for run in runs):
        sizes[run.place] = max(sizes.get(run.place, 0), run.size)
    begins: dict[Place, int] = {}
    for one in sorted(sizes):
        begins[one] = (place << SOURCE_BITS) + used
        used += sizes[one]
    return [_from(runs, begins) for runs in packets], used


def _from(runs: Runs, begins: Mapping[Place, int]) -> Number:
    starts = np.array([begins[run.place] for run in runs], dtype=np.int64)

    def number(own: Ints) -> Ints:
        found: Ints = starts[own >> ROW_BITS] + (own & (1 << ROW_BITS) - 1) if len(starts) else own
        return found

    return number


def _number_tuples(table: pa.Table, number: Number) -> pa.Table:
    """Tuples with the numbers of the stream."""
    numbers = pa.array(number(table[ARRIVAL].to_numpy()))
    return table.set_column(table.column_names.index(ARRIVAL), ARRIVAL, numbers)


def _by_arrival(tables: Sequence[pa.Table]) -> pa.Table:
    """The tuples of several packets in the order in which they arrived."""
    table = pa.concat_tables(tables)
    numbers = table[ARRIVAL].to_numpy()
    if (numbers[1:] >= numbers[:-1]).all():
        return table
    return table.combine_chunks().take(pa.array(np.argsort(numbers, kind="stable")))
