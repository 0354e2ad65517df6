"""The states of an aggregate over many frames of one sequence, at little more cost for long frames than for short."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.aggregates.contract import Aggregate, State, put, take
from millstream.aggregates.evaluation import over_frames
from millstream.operators.codes import Numbers
from millstream.windows.tuples import expand_ids

MOST_PAIRS = 1_000_000
"""So many pairs of frame and tuple are looked at together where frames are recomputed."""

Bools = npt.NDArray[np.bool_]


def frame_states(
    aggregate: Aggregate,
    arguments: Sequence[pa.Array],
    times: Numbers,
    first: Numbers,
    last: Numbers,
    counts: Bools | None = None,
) -> State:
    """The state of each frame first[i] .. last[i] of a sequence of tuples; last < first is an empty frame.

    `counts` says which tuples count at all, as a FILTER does.

    >>> from millstream.aggregates.max import Max
    >>> largest = Max([pa.int64()])
    >>> first, last = np.array([0, 0, 2]), np.array([0, 2, 1])
    >>> largest.finish(frame_states(largest, [pa.array([5, 9, 7])], np.arange(3), first, last)).to_pylist()
    [5, 9, None]
    """
    if counts is not None:
        before = np.append(0, np.cumsum(counts))
        first, last = before[first], before[np.maximum(last + 1, first)] - 1
        arguments, times = [a.filter(pa.array(counts)) for a in arguments], times[counts]
    last = np.maximum(last, first - 1)
    if over_frames(aggregate) == "recomputation":
        parts = [_recomputed(aggregate, arguments, times, first[p], last[p]) for p in _pieces(first, last)]
        return tuple(np.concatenate(c) for c in zip(aggregate.zero(0), *parts, strict=True))
    size = len(times)
    single = aggregate.reduce(aggregate.zero(size), np.arange(size), arguments, times)
    if aggregate.additive:
        return _differences(aggregate, single, first, last)
    return from_tree(aggregate, single, first, last)


def frame_answers(
    aggregate: Aggregate,
    arguments: Sequence[pa.Array],
    times: Numbers,
    first: Numbers,
    last: Numbers,
    counts: Bools | None = None,
    before: State | None = None,
) -> pa.Array:
    """The answer of each frame; `before` is what each has seen besides.

    States that grow are finished piece by piece, so that never all of them are there at once.
    """
    whole = over_frames(aggregate) != "recomputation"
    answers = []
    for piece in [slice(None)] if whole else _pieces(first, last):
        state = frame_states(aggregate, arguments, times, first[piece], last[piece], counts)
        if before is not None:
            state = aggregate.merge(tuple(c[piece] for c in before), state)
        answers.append(aggregate.finish(state))
    return pa.concat_arrays(answers) if answers else aggregate.finish(aggregate.zero(0))


def _differences(aggregate: Aggregate, single: State, first: Numbers, last: Numbers) -> State:
    """Prefix sums may wrap around: their differences do not mind."""
    found = []
    for component in single:
        sums = np.zeros(len(component) + 1, dtype=component.dtype)
        np.cumsum(component, out=sums[1:])
        found.append(sums[last + 1] - sums[first])
    return aggregate.merge(tuple(found), aggregate.zero(len(first)))


def from_tree(aggregate: Aggregate, level: State, first: Numbers, last: Numbers) -> State:
    """Each frame from blocks of 1, 2, 4, ... states: at each size at most one at its left end and one at its right."""
    left, right = aggregate.zero(len(first)), aggregate.zero(len(first))
    begin, end = first.copy(), last + 1
    active = np.flatnonzero(begin < end)
    while len(active):
        odd = active[begin[active] % 2 == 1]
        put(left, odd, aggregate.merge(take(left, odd), take(level, begin[odd])))
        begin[odd] += 1
        odd = active[end[active] % 2 == 1]
        end[odd] -= 1
        put(right, odd, aggregate.merge(take(level, end[odd]), take(right, odd)))
        begin[active] //= 2
        end[active] //= 2
        active = active[begin[active] < end[active]]
        pairs = len(level[0]) // 2 * 2
        level = aggregate.merge(tuple(c[0:pairs:2] for c in level), tuple(c[1:pairs:2] for c in level))
    return aggregate.merge(left, right)


def _recomputed(
    aggregate: Aggregate, arguments: Sequence[pa.Array], times: Numbers, first: Numbers, last: Numbers
) -> State:
    frames, places = expand_ids(first, last)
    chosen = [a.take(pa.array(places)) for a in arguments]
    return aggregate.reduce(aggregate.zero(len(first)), frames, chosen, times[places])


def _pieces(first: Numbers, last: Numbers) -> Iterator[slice]:
    """Consecutive frames that together have no more than so many tuples, or one frame that has more."""
    sizes = np.append(0, np.cumsum(np.maximum(last - first + 1, 0)))
    begin = 0
    while begin < len(first):
        fits = int(np.searchsorted(sizes, sizes[begin] + MOST_PAIRS, side="right")) - 1
        end = min(max(fits, begin + 1), len(first))
        yield slice(begin, end)
        begin = end
