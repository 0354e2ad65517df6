"""What ESL cannot say, or not fast enough: the nearest player to a ball, and maps of cells."""

from __future__ import annotations

from typing import Any, ClassVar

import numba
import numpy as np
import pyarrow as pa

Arrays = dict[str, Any]
"""The states of many groups: an array of objects for each field."""

SECOND = 1_000_000
READING, EVENT = 5, 11
"""Numbers of a player's reading: time, player, x, y, z; and of an event of the ball."""
NEAR = 10
"""Where an event has how far in time a player's reading may be from it; 0 if the ball was not hit."""


class BallLog:
    """The readings of the ball with the nearest player, and one row for the end of the second.

    A state is a tuple of parts: the players' readings, and places and events of the ball. Readings with a negative
    number only tell that there is such a second.
    """

    state: ClassVar[dict[str, type]] = {"second": int, "parts": tuple}
    nulls = True
    pure = True

    def zero_batch(self, groups: int) -> Arrays:
        """Nothing read."""
        return {"second": np.full(groups, -1), "parts": _objects([()] * groups)}

    def reduce_batch(self, state: Arrays, groups: Any, arguments: Any, times: Any) -> Arrays:
        """Keep all readings, by group."""
        number, x, y, z = (column.to_numpy(zero_copy_only=False) for column in arguments[:4])
        balls = np.flatnonzero(number == 0)
        events = arguments[4].take(pa.array(balls)).flatten().to_numpy(zero_copy_only=False).reshape(-1, EVENT)
        places = np.column_stack((times[balls], x[balls], y[balls], z[balls])).astype(np.int64)
        players = np.flatnonzero(number > 0)
        readings = np.empty((len(players), READING), np.int64)
        for place, column in enumerate((times, number, x, y, z)):
            readings[:, place] = column[players]
        state["second"][groups] = times // SECOND
        size = len(state["parts"])
        cut = zip(
            _cut(readings, groups[players], size),
            _cut(np.column_stack((places, events)), groups[balls], size),
            strict=True,
        )
        for group, part in enumerate(cut):
            state["parts"][group] += (part,)
        return state

    def merge_batch(self, a: Arrays, b: Arrays) -> Arrays:
        """All parts of both."""
        return {"second": np.maximum(a["second"], b["second"]), "parts": a["parts"] + b["parts"]}

    def finish_batch(self, state: Arrays) -> list[list[tuple[Any, ...]]]:
        """The rows of each second."""
        return [_ball_rows(s, parts) for s, parts in zip(state["second"].tolist(), state["parts"], strict=True)]


def _ball_rows(second: int, parts: tuple[tuple[Any, Any], ...]) -> list[tuple[Any, ...]]:
    readings, ball = (np.concatenate(part) for part in zip(*parts, strict=True))
    readings = readings[np.argsort(readings[:, 0], kind="stable")]
    ball = ball[np.argsort(ball[:, 0], kind="stable")]
    nearest, distance = _nearest(ball[:, :4], ball[:, 4 + NEAR], readings)
    columns = zip(ball[:, :4].tolist(), nearest.tolist(), distance.tolist(), ball[:, 4:], strict=True)
    rows: list[tuple[Any, ...]] = [(*place, near, away, event) for place, near, away, event in columns]
    rows.append(((second + 1) * SECOND - 1, None, None, None, None, None, None))
    return rows


@numba.njit(cache=True, nogil=True)
def _nearest(places: Any, near: Any, readings: Any) -> tuple[Any, Any]:
    """For each hit the player with the nearest reading around that time, and how far that is; else 0."""
    nearest = np.zeros(len(places), np.int64)
    distance = np.full(len(places), np.inf)
    first = 0
    for i in range(len(places)):
        if near[i] == 0:
            continue
        while first < len(readings) and readings[first, 0] < places[i, 0] - near[i]:
            first += 1
        at = first
        while at < len(readings) and readings[at, 0] <= places[i, 0] + near[i]:
            away = 0.0
            for axis in range(1, 4):
                away += float(places[i, axis] - readings[at, axis + 1]) ** 2
            away = np.sqrt(away)
            if away < distance[i] or (away == distance[i] and readings[at, 1] < nearest[i]):
                nearest[i], distance[i] = readings[at, 1], away
            at += 1
    return nearest, distance


FINE_X, FINE_Y, ROWS = 64, 100, 13
"""The finest grid, and the rows of the coarsest one, which are no sums of its rows."""
GRIDS = ((8, 13), (16, 25), (32, 50), (64, 100))


class Heat:
    """How often a player was read in each cell, in four grids and four windows that end with the newest second.

    A state is an array of rows (second, cell, readings), and the lengths of three windows in minutes. What only the
    whole game still holds has no second any more, and one row for each cell.
    """

    state: ClassVar[dict[str, type]] = {"minutes": tuple, "rows": np.ndarray}
    pure = True

    def zero_batch(self, groups: int) -> Arrays:
        """Nothing read."""
        return {"minutes": _objects([()] * groups), "rows": _objects([_NO_ROWS] * groups)}

    def reduce_batch(self, state: Arrays, groups: Any, arguments: Any, times: Any) -> Arrays:
        """Add rows."""
        cell, readings, *minutes = arguments
        rows = np.column_stack((times // SECOND, cell, readings)).astype(np.int64)
        for group, part in enumerate(_cut(rows, groups, len(state["rows"]))):
            if len(part):
                lengths = tuple(int(m[0]) for m in minutes)
                state["rows"][group] = _shortened(np.concatenate((state["rows"][group], part)), lengths)
                state["minutes"][group] = lengths
        return state

    def merge_batch(self, a: Arrays, b: Arrays) -> Arrays:
        """The rows of both."""
        minutes = [x or y for x, y in zip(a["minutes"], b["minutes"], strict=True)]
        pairs = zip(a["rows"], b["rows"], minutes, strict=True)
        rows = [_shortened(np.concatenate((x, y)), m) if len(y) else x for x, y, m in pairs]
        return {"minutes": _objects(minutes), "rows": _objects(rows)}

    def finish_batch(self, state: Arrays) -> list[list[tuple[Any, ...]]]:
        """The maps of each player."""
        return [_maps(m, rows) for m, rows in zip(state["minutes"], state["rows"], strict=True)]


_NO_ROWS = np.zeros((0, 3), np.int64)
LONG_AGO = -(2**62)
"""The second of rows that only the whole game still holds."""

MANY_ROWS = 2000
"""Fewer old rows are not worth summing up."""


def _shortened(rows: Any, minutes: tuple[int, ...]) -> Any:
    """The rows, those that are older than any window summed up by cell, once they are many.

    >>> rows = np.array([[100, 7, 1]] * MANY_ROWS + [[900, 7, 2]])
    >>> _shortened(rows, (1, 5, 10)).tolist() == [[900, 7, 2], [LONG_AGO, 7, MANY_ROWS]]
    True
    """
    if len(rows) < MANY_ROWS:
        return rows
    recent = rows[:, 0] > int(rows[:, 0].max()) - 60 * max(minutes)
    old = rows[~recent]
    if np.count_nonzero(old[:, 0] != LONG_AGO) < MANY_ROWS:
        return rows
    cells, at = np.unique(old[:, 1], return_inverse=True)
    counts = np.bincount(at, weights=old[:, 2], minlength=len(cells)).astype(np.int64)
    ages = np.full(len(cells), LONG_AGO)
    return np.concatenate((rows[recent], np.column_stack((ages, cells, counts)).astype(np.int64)))


def _maps(minutes: tuple[int, ...], rows: Any) -> list[tuple[Any, ...]]:
    newest = int(rows[:, 0].max())
    lengths = sorted(minutes)
    sinces = np.array([*(newest - 60 * length for length in lengths), LONG_AGO - 1])
    totals, cells, counts, ends = _counted(rows, sinces)
    found, begin = [], 0
    for length, total, of_grids in zip((*lengths, 0), totals.tolist(), ends.tolist(), strict=True):
        for (across, along), end in zip(GRIDS, of_grids, strict=True):
            found.append((newest, across, along, length, total, cells[begin:end], counts[begin:end]))
            begin = end
    return found


@numba.njit(cache=True, nogil=True)
def _counted(rows: Any, sinces: Any) -> tuple[Any, Any, Any, Any]:
    """For each window, which begins after a second: all readings, and of all grids the cells that are not empty.

    Windows come from the shortest to the longest, each of which holds what the one before does. Cells and their counts
    of all windows and grids lie one after the other; the last array says where each ends.
    """
    windows = len(sinces)
    coarse = np.zeros(8 * 13, np.int32)
    third = np.zeros(16 * 25, np.int32)
    second = np.zeros(32 * 50, np.int32)
    fine = np.zeros(64 * 100, np.int32)
    cells = np.empty(windows * (8 * 13 + 16 * 25 + 32 * 50 + 64 * 100), np.int32)
    counts = np.empty_like(cells)
    ends = np.zeros((windows, 4), np.int64)
    totals = np.zeros(windows, np.int64)
    at = total = 0
    for window in range(windows):
        for i in range(len(rows)):
            if rows[i, 0] > sinces[window] and (window == 0 or rows[i, 0] <= sinces[window - 1]):
                cell, count = rows[i, 1] // 13, rows[i, 2]
                x, y = cell // 100, cell % 100
                coarse[x // 8 * 13 + rows[i, 1] % 13] += count
                third[x // 4 * 25 + y // 4] += count
                second[x // 2 * 50 + y // 2] += count
                fine[cell] += count
                total += count
        totals[window] = total
        for grid, readings in enumerate((coarse, third, second, fine)):
            for cell in range(len(readings)):
                if readings[cell]:
                    cells[at], counts[at] = cell, readings[cell]
                    at += 1
            ends[window, grid] = at
    return totals, cells[:at].copy(), counts[:at].copy(), ends


def _cut(rows: Any, groups: Any, size: int) -> list[Any]:
    """The rows of each group."""
    order = np.argsort(groups, kind="stable")
    bounds = np.searchsorted(groups[order], np.arange(1, size))
    return np.split(rows[order], bounds)


def _objects(values: list[Any]) -> Any:
    found = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        found[place] = value
    return found
