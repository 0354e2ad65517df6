"""`uda paper`: [Bai 2006, figures 4 to 7]. Operators of OVER without Spark, driven over one window.

Figures 4 and 5 are rates by the size of the window at a slide of 1, figures 6 and 7 memory and rate by the slide.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from millstream_bench.measures.uda_variants import Variant

if TYPE_CHECKING:
    from millstream.operators.blobs import MemoryBlobs
    from millstream.operators.over.framed_over import FramedOver

ITEMS = 1000
GROWTH = 4
WARM_WINDOW = 8


@dataclass(frozen=True)
class Limits:
    """When a measurement ends: with so many tuples, or so many seconds of work; and how long a batch gets."""

    rows: int
    batch: int
    seconds: float


@dataclass(frozen=True)
class Found:
    """One point of a figure."""

    aggregate: str
    variant: str
    operator: str
    window: int
    slide: int
    batch: int
    tuples: int
    answers: int
    seconds: float
    blob_bytes: int

    @property
    def tuples_per_second(self) -> float:
        """The rate over the longest batches."""
        return self.tuples / self.seconds

    def to_json(self) -> dict[str, Any]:
        """The object that --json writes."""
        return {
            "bench": "uda paper",
            "aggregate": self.aggregate,
            "variant": self.variant,
            "operator": self.operator,
            "window": self.window,
            "slide": self.slide,
            "batch": self.batch,
            "tuples": self.tuples,
            "answers": self.answers,
            "seconds": round(self.seconds, 4),
            "tuples_per_s": round(self.tuples_per_second),
            "blob_bytes": self.blob_bytes,
        }


class _Feed:
    """Rows in the order of time, one a microsecond, with the columns that a variant reads: others would be kept too."""

    def __init__(self, variant: Variant, window: int) -> None:
        self._columns = variant.arguments
        self._window = window
        self._random = np.random.default_rng(1)
        self.time = 0

    def rows(self, count: int) -> pa.Table:
        """The next ones."""
        from millstream.operators.window_aggregate_job import TIME

        times = np.arange(self.time, self.time + count)
        self.time += count
        columns = {
            "x": self._random.random(count),
            "item": np.minimum(self._random.zipf(1.5, count), ITEMS),
            "one": np.ones(count, dtype=np.int64),
            "span": np.full(count, self._window, dtype=np.int64),
        }
        return pa.table({TIME: times, **{name: columns[name] for name in self._columns}})


def measure(variant: Variant, window: int, slide: int, limits: Limits) -> Found:
    """Fill a window, then feed whole slides in batches that grow; what the longest ones took is the rate.

    A batch has whole slides, so that it has its share of answers. It grows only as far as the time allows: an answer
    may be a recomputation of the whole window, and the first one is then all that there is time for.
    """
    from millstream.operators.blobs import MemoryBlobs
    from millstream.operators.over.calls import over_operator

    _warm_up(variant)
    blobs, feed = MemoryBlobs(), _Feed(variant, window)
    work = variant.work(window, slide)
    kind = over_operator(work)
    # To fill the window must not take answers if each costs a window: with this slide there are none.
    first = kind(variant.work(window, window + 1) if variant.recomputes else work, blobs)
    for part in _parts(window, limits.batch):
        _batch(first, feed, feed.rows(part))
    operator = kind(work, blobs)
    longest = max(slide, limits.batch // slide * slide)
    size, spent, fed, runs = slide, 0.0, 0, []
    while True:
        rows = feed.rows(size)
        started = time.perf_counter()
        answers = _batch(operator, feed, rows)
        taken = time.perf_counter() - started
        runs.append((size, answers, taken))
        spent, fed = spent + taken, fed + size
        if spent >= limits.seconds or fed >= limits.rows:
            break
        larger = min(GROWTH * size, longest)
        if taken * larger / size * 2 <= limits.seconds - spent:
            size = larger
    counted = [run for run in runs if run[0] == max(size for size, _, _ in runs)]
    # In the middle of a slide, or the memory of the pane that is open would not be seen.
    if slide > 1:
        _batch(operator, feed, feed.rows(slide // 2))
    return Found(
        variant.aggregate,
        variant.name,
        kind.__name__,
        window,
        slide,
        counted[0][0],
        sum(size for size, _, _ in counted),
        sum(answers for _, answers, _ in counted),
        sum(taken for _, _, taken in counted),
        _size(blobs),
    )


def answers(variant: Variant, window: int, slide: int, rows: int, batch: int) -> list[Any]:
    """What a variant answers: all of them must say the same."""
    from millstream.operators.blobs import MemoryBlobs
    from millstream.operators.over.calls import over_operator

    work = variant.work(window, slide)
    operator, feed = over_operator(work)(work, MemoryBlobs()), _Feed(variant, window)
    found: list[Any] = []
    for part in _parts(rows, batch):
        for table in _answers(operator, feed, feed.rows(part)):
            found += table["answer"].to_pylist()
    return found


def points(windows: Sequence[int], window: int, slides: Sequence[int]) -> list[tuple[int, int]]:
    """The windows and slides of figures 4 and 5, then those of figures 6 and 7, none twice.

    >>> points([100, 40], 40, [1, 20])
    [(100, 1), (40, 1), (40, 20)]
    """
    return list(dict.fromkeys([*((size, 1) for size in windows), *((window, slide) for slide in slides)]))


def _warm_up(variant: Variant) -> None:
    """Have the kernels of the aggregate compiled."""
    answers(variant, WARM_WINDOW, 2, 2 * WARM_WINDOW, WARM_WINDOW)
    answers(variant, WARM_WINDOW, 1, 2 * WARM_WINDOW, WARM_WINDOW)


def _answers(operator: FramedOver, feed: _Feed, rows: pa.Table) -> Iterator[pa.Table]:
    from millstream.progress.punctuation import Punctuation

    operator.process(rows)
    yield from operator.punctuate(Punctuation(feed.time))
    yield from operator.end_batch()


def _batch(operator: FramedOver, feed: _Feed, rows: pa.Table) -> int:
    return sum(part.num_rows for part in _answers(operator, feed, rows))


def _parts(count: int, most: int) -> Iterator[int]:
    for first in range(0, count, most):
        yield min(most, count - first)


def _size(blobs: MemoryBlobs) -> int:
    return sum(len(name) + len(blob) for name, blob in blobs.blobs.items())
