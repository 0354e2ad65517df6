"""The function that Spark calls for each key, as a user would write it: panes of a sliding window in Spark's state."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream_bench.udas.classes import BatchAverage

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming.state import GroupState

RESULT = "k INT, window_end TIMESTAMP, answer DOUBLE"
STATE = "panes BINARY, answered BIGINT"
"""Panes are pickled: Spark 4.3 fails to tell its workers of a state that has arrays."""
NEVER = -(2**62)

Panes = dict[int, dict[str, Any]]
"""For the start of each pane, in seconds, the state of the aggregate over it."""
Answering = Callable[[Any, Iterable["pd.DataFrame"], "GroupState"], Iterator["pd.DataFrame"]]


def answering(range_: int, slide: int, batch: bool) -> Answering:
    """The function for a window of so many seconds, with the one or the other form of the aggregate."""
    aggregate, width = BatchAverage(), math.gcd(range_, slide)
    add = _add_batch if batch else _add_rows

    def answer(key: Any, frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        import pandas as pd

        panes, answered = _restored(state)
        for frame in frames:
            if len(frame):
                micros = frame["ts"].to_numpy("datetime64[us]").astype(np.int64)
                add(aggregate, panes, micros // (width * 1_000_000) * width, frame["v"].to_numpy())
        watermark = state.getCurrentWatermarkMs()
        ends, answers = [], []
        for end in due(panes, range_, slide, answered):
            if 1000 * end > watermark:
                _keep(state, panes, answered, end)
                break
            total = aggregate.zero()
            for start in range(end - range_, end, width):
                if start in panes:
                    total = aggregate.merge(total, panes[start])
            ends.append(end)
            answers.append(aggregate.finish(total))
            answered = end
            for start in [start for start in panes if start < end + slide - range_]:
                del panes[start]
        else:
            state.remove()
        if ends:
            times = pd.to_datetime(np.array(ends, dtype=np.int64), unit="s")
            yield pd.DataFrame({"k": key[0], "window_end": times, "answer": answers})

    return answer


def due(panes: Panes, range_: int, slide: int, answered: int) -> Iterator[int]:
    """The ends of the windows that hold something and are not answered yet, as long as panes are left.

    >>> list(due({5: {}, 20: {}}, 10, 5, answered=10))
    [15, 25, 30]
    """
    last = answered
    for start in sorted(panes):
        # The first slide that ends after the pane has begun, for panes do not cross the ends of slides.
        first = max(start - start % slide + slide, last + slide)
        for last in range(first, start + range_ + 1, slide):
            yield last


def _add_rows(aggregate: BatchAverage, panes: Panes, starts: Any, values: Any) -> None:
    for start, value in zip(starts.tolist(), values.tolist(), strict=True):
        panes[start] = aggregate.reduce(panes.get(start) or aggregate.zero(), value)


def _add_batch(aggregate: BatchAverage, panes: Panes, starts: Any, values: Any) -> None:
    known, groups = np.unique(starts, return_inverse=True)
    empty = {"total": np.zeros(len(known)), "count": np.zeros(len(known), dtype=np.int64)}
    found = aggregate.reduce_batch(empty, groups, [values], None)
    for start, total, count in zip(known.tolist(), found["total"].tolist(), found["count"].tolist(), strict=True):
        panes[start] = aggregate.merge(panes.get(start) or aggregate.zero(), {"total": total, "count": count})


def _restored(state: GroupState) -> tuple[Panes, int]:
    if not state.exists:
        return {}, NEVER
    panes, answered = state.get
    return pickle.loads(panes), answered


def _keep(state: GroupState, panes: Panes, answered: int, end: int) -> None:
    """Keep the panes, and be called again when the watermark is at the end of the next window."""
    state.update((pickle.dumps(panes), answered))
    # Spark's timeout is over when the watermark is beyond it, and a window when the watermark is at its end.
    state.setTimeoutTimestamp(1000 * end - 1)
