"""`oop`: what operators keep when inputs lag behind each other, without Spark.

Each query runs twice over the same tuples: by operators that take tuples as they come and go by punctuation, and by
the same operators with MERGE ORDERED on each input in front, as systems do that rely on order. The experiments are
those behind [Li 2008, figures 8-8 to 8-11]; there the two are called OOP and IOP.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.aggregates.registry import find
from millstream.errors import RunError, SettingError
from millstream.operators.answers import END
from millstream.operators.blobs import MemoryBlobs, from_bytes
from millstream.operators.join.window_join import WindowJoin
from millstream.operators.join.window_join_job import JoinKind, WindowJoinJob, key_name
from millstream.operators.ordered.merge_ordered import MergeOrdered
from millstream.operators.panes.paned_aggregate import PanedAggregate
from millstream.operators.panes.partials import partial_states
from millstream.operators.panes.store import ALONE, TOGETHER
from millstream.operators.window_aggregate_job import TIME, Call, WindowAggregateJob
from millstream.progress.low_watermark import LowWatermark
from millstream.progress.meld import Meld
from millstream.progress.punctuation import Punctuation
from millstream.windows.reach import SameTumble
from millstream.windows.sliding import Sliding

SECOND = 1_000_000
STEP = SECOND
"""How much time a batch holds, by arrival."""

JOIN_KEYS = 100
"""How many times as many keys the joins have: a tuple is to have few partners, not all of its window."""

LATE_PART = 100
"""Of so many tuples one is of the input of low volume that comes late."""

Answers = npt.NDArray[np.int64]
"""Answers as rows of numbers, in an order that does not depend on when they came."""


@dataclass(frozen=True)
class Shape:
    """How much data there is, over how many seconds, and the window over it."""

    rows: int
    seconds: int
    range: int
    slide: int
    keys: int


class Input(NamedTuple):
    """One of the streams: the port of the operator that it goes to, its tuples by time, and how late they come."""

    port: int
    tuples: pa.Table
    lag: int


class Peaks(NamedTuple):
    """The most that was kept after any batch: tuples, partial states of groups in panes, both, and bytes of blobs."""

    tuples: int
    states: int
    stored: int
    bytes: int


@dataclass(frozen=True)
class Kept:
    """A query at one skew: what it keeps without regard to order, and with order enforced."""

    query: str
    shape: Shape
    skew: int
    answers: int
    out_of_order: Peaks
    in_order: Peaks

    def to_json(self) -> dict[str, Any]:
        """The object that --json writes."""
        return {
            "bench": "oop",
            "query": self.query,
            **asdict(self.shape),
            "skew": self.skew,
            "answers": self.answers,
            "out_of_order": self.out_of_order._asdict(),
            "in_order": self.in_order._asdict(),
        }


def measure(shape: Shape, skews: Sequence[int], say: Callable[[str], None]) -> Iterator[Kept]:
    """Each query at each skew; fails if the two ways do not answer alike."""
    for skew in skews:
        if skew + shape.range > shape.seconds:
            raise SettingError(f"a skew of {skew} s and a window do not fit into {shape.seconds} s of data")
    for name, (inputs, make) in QUERIES.items():
        for skew in skews:
            say(f"oop: {name}, {skew} s of skew")
            yield _compare(name, shape, skew, inputs(shape, skew), make)


def _compare(name: str, shape: Shape, skew: int, inputs: Sequence[Input], make: Callable[[Shape], Stage]) -> Kept:
    free, ordered = make(shape), InOrder(make(shape), sorted({one.port for one in inputs}))
    peaks = [drive(stage, inputs) for stage in (free, ordered)]
    answers = free.answers
    if not np.array_equal(answers, ordered.answers):
        raise RunError(f"bench oop: {name} with {skew} s of skew answers differently when order is enforced")
    return Kept(name, shape, skew, len(answers), *peaks)


# -- stages ----------------------------------------------------------------------------------------------------


class Stage(ABC):
    """A query as far as it is measured: it takes tuples and promises, and can be looked into between batches."""

    @abstractmethod
    def process(self, port: int, tuples: pa.Table) -> None:
        """Take in tuples of an input."""

    @abstractmethod
    def end_batch(self, promises: dict[int, Punctuation]) -> None:
        """Take in the promises about inputs that a batch brings, and end it."""

    @property
    @abstractmethod
    def kept(self) -> Peaks:
        """What is kept now."""

    @property
    @abstractmethod
    def answers(self) -> Answers:
        """All answers so far."""


class WindowCount(Stage):
    """Tuples counted by key in a window."""

    def __init__(self, shape: Shape) -> None:
        count = find("count_star")
        if count is None:
            raise RunError("no aggregate count_star")
        window = Sliding(shape.range * SECOND, shape.slide * SECOND)
        self._work = WindowAggregateJob(((key_name(0), pa.int64()),), (Call(count([]), names=("n",)),), window)
        self._blobs = MemoryBlobs()
        self._operator = PanedAggregate(self._work, self._blobs)
        self._found: list[Answers] = []

    def process(self, port: int, tuples: pa.Table) -> None:
        """Reduce the tuples to partial states and merge these."""
        if self._operator.process(partial_states(self._work, tuples)):
            raise RunError("bench oop: a tuple was late")

    def end_batch(self, promises: dict[int, Punctuation]) -> None:
        """Answer the windows that are complete."""
        for promise in promises.values():
            for table in self._operator.punctuate(promise):
                self._found.append(_numbers(table, (END, key_name(0), "n")))
        list(self._operator.end_batch())

    @property
    def kept(self) -> Peaks:
        """The partial states in panes, as they are in the blobs."""
        count = self._work.state_names(0)[0]
        panes = [from_bytes(blob)[count] for prefix in (ALONE, TOGETHER) for _, blob in self._blobs.scan(prefix)]
        states = sum(int((pane.to_numpy() > 0).sum()) for pane in panes)
        return Peaks(0, states, states, _size(self._blobs))

    @property
    def answers(self) -> Answers:
        """The end of the window, the key and the count."""
        return _sorted(self._found, 3)


class TumbleJoin(Stage):
    """Tuples of two inputs joined by key within the same window."""

    def __init__(self, shape: Shape) -> None:
        sides = [pa.schema({f"{side}id": pa.int64()}) for side in "lr"]
        self._blobs = MemoryBlobs()
        self._operator = WindowJoin(
            WindowJoinJob(JoinKind.INNER, SameTumble(shape.range * SECOND), 1, *sides), self._blobs
        )
        self._found: list[Answers] = []

    def process(self, port: int, tuples: pa.Table) -> None:
        """Hand the tuples over."""
        names = [f"{'lr'[port]}id", *tuples.column_names[1:]]
        if self._operator.process(tuples.rename_columns(names), port):
            raise RunError("bench oop: a tuple was late")

    def end_batch(self, promises: dict[int, Punctuation]) -> None:
        """Answer the pairs that the batch makes."""
        for port, promise in promises.items():
            list(self._operator.punctuate(Punctuation(promise.time, promise.final, port=port)))
        for table in self._operator.end_batch():
            self._found.append(_numbers(table, ("lid", "rid")))

    @property
    def kept(self) -> Peaks:
        """The tuples of both sides that can still match."""
        live = self._operator.live(0) + self._operator.live(1)
        return Peaks(live, 0, live, _size(self._blobs))

    @property
    def answers(self) -> Answers:
        """The numbers of both tuples."""
        return _sorted(self._found, 2)


class InOrder(Stage):
    """A stage that gets the tuples of each input in the order of time: they are held until the input has passed."""

    def __init__(self, stage: Stage, ports: Sequence[int]) -> None:
        self._stage = stage
        self._blobs = {port: MemoryBlobs() for port in ports}
        self._merges = {port: MergeOrdered(blobs) for port, blobs in self._blobs.items()}
        self._held = 0

    def process(self, port: int, tuples: pa.Table) -> None:
        """Hold the tuples back."""
        self._held += tuples.num_rows
        if self._merges[port].process(tuples.append_column("t", tuples[TIME])):
            raise RunError("bench oop: a tuple was late")

    def end_batch(self, promises: dict[int, Punctuation]) -> None:
        """Hand over what has been passed, then what is promised about the rest."""
        for port, merge in self._merges.items():
            if port in promises:
                list(merge.punctuate(promises[port]))
            for table in merge.end_batch():
                self._held -= table.num_rows
                self._stage.process(port, table.rename_columns([*table.column_names[:-1], TIME]))
        self._stage.end_batch(promises)

    @property
    def kept(self) -> Peaks:
        """What is held, and what the stage keeps."""
        after = self._stage.kept
        size = sum(map(_size, self._blobs.values()))
        return Peaks(after.tuples + self._held, after.states, after.stored + self._held, after.bytes + size)

    @property
    def answers(self) -> Answers:
        """Those of the stage."""
        return self._stage.answers


def drive(stage: Stage, inputs: Sequence[Input]) -> Peaks:
    """Feed a stage to its end, batch by batch as tuples arrive; gives the most that was kept between batches."""
    marks = [LowWatermark(slack=0) for _ in inputs]
    ports = {
        one.port: Meld([m for m, other in zip(marks, inputs, strict=True) if other.port == one.port]) for one in inputs
    }
    arrivals = [one.tuples[TIME].to_numpy() + one.lag for one in inputs]
    end = max(int(times[-1]) for times in arrivals if len(times))
    peaks = Peaks(0, 0, 0, 0)
    for begin in range(0, end + 1, STEP):
        for one, mark, times in zip(inputs, marks, arrivals, strict=True):
            first, last = np.searchsorted(times, [begin, begin + STEP])
            if first < last:
                mark.saw(int(times[first]) - one.lag, int(times[last - 1]) - one.lag)
                stage.process(one.port, one.tuples.slice(first, last - first))
        stage.end_batch({port: Punctuation(meld.time) for port, meld in ports.items() if meld.time is not None})
        peaks = Peaks(*map(max, peaks, stage.kept))
    stage.end_batch({port: Punctuation(meld.newest or 0, final=True) for port, meld in ports.items()})
    return peaks


# -- queries ---------------------------------------------------------------------------------------------------


def _union(shape: Shape, skew: int) -> list[Input]:
    """Two inputs of one operator, the second one late."""
    return _inputs(shape, shape.keys, [(0, 1, 0), (0, 1, skew)])


def _unions(shape: Shape, skew: int) -> list[Input]:
    """Two inputs for each side of a join, of each the second one late."""
    return _inputs(shape, shape.keys * JOIN_KEYS, [(0, 1, 0), (0, 1, skew), (1, 1, 0), (1, 1, skew)])


def _late_part(shape: Shape, skew: int) -> list[Input]:
    """One input for one side of a join, and for the other one a second input of low volume that is late."""
    large = (LATE_PART - 1) / 2
    return _inputs(shape, shape.keys * JOIN_KEYS, [(0, large, 0), (1, large, 0), (1, 1, skew)])


QUERIES: dict[str, tuple[Callable[[Shape, int], list[Input]], Callable[[Shape], Stage]]] = {
    "count": (_union, WindowCount),
    "join": (_unions, TumbleJoin),
    "join-late": (_late_part, TumbleJoin),
}
"""A window count over a union (figures 8-8 and 8-11), a join of unions (8-9), and one with few late tuples (8-10)."""


def _inputs(shape: Shape, keys: int, parts: Sequence[tuple[int, float, int]]) -> list[Input]:
    """Inputs from ports, weights and lags in seconds; the rows are shared out by weight, spread evenly over time."""
    random = np.random.default_rng(1)
    whole = sum(weight for _, weight, _ in parts)
    found = []
    for number, (port, weight, lag) in enumerate(parts):
        count = max(1, round(shape.rows * weight / whole))
        data = {
            "id": np.arange(count, dtype=np.int64) * len(parts) + number,  # unique over all inputs
            key_name(0): random.integers(0, keys, count),
            TIME: np.arange(count, dtype=np.int64) * shape.seconds * SECOND // count,
        }
        found.append(Input(port, pa.table(data), lag * SECOND))
    return found


# -- small things ----------------------------------------------------------------------------------------------


def _numbers(table: pa.Table, names: Sequence[str]) -> Answers:
    return np.stack([table[name].cast(pa.int64()).to_numpy() for name in names], axis=1)


def _sorted(parts: Sequence[Answers], width: int) -> Answers:
    rows = np.concatenate([np.empty((0, width), dtype=np.int64), *parts])
    return rows[np.lexsort(rows.T)]


def _size(blobs: MemoryBlobs) -> int:
    return sum(len(name) + len(blob) for name, blob in blobs.blobs.items())
