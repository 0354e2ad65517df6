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
                state["rows"][group] = _joined(state["rows"][group], part, lengths)
                state["minutes"][group] = lengths
        return state

    def merge_batch(self, a: Arrays, b: Arrays) -> Arrays:
        """The rows of both."""
        minutes = [x or y for x, y in zip(a["minutes"], b["minutes"], strict=True)]
        pairs = zip(a["rows"], b["rows"], minutes, strict=True)
        return {"minutes": _objects(minutes), "rows": _objects([_joined(x, y, m) for x, y, m in pairs])}

    def finish_batch(self, state: Arrays) -> pa.Array:
        """The maps of each player, as an array of Arrow: they hold many numbers, and so these are not touched again."""
        maps = _Maps(len(state["rows"]))
        for minutes, rows in zip(state["minutes"], state["rows"], strict=True):
            maps.add(minutes, rows)
        return maps.answers()


_NO_ROWS = np.zeros((0, 3), np.int64)
LONG_AGO = -(2**62)
"""The second of rows that only the whole game still holds."""

MANY_ROWS = 2000
"""Fewer old rows are not worth summing up."""

SOME_ROWS = 256
"""After so many more rows it is seen whether old ones are to be summed up."""


def _joined(rows: Any, more: Any, minutes: tuple[int, ...]) -> Any:
    """The rows of both, which are looked at only every now and then to see whether many of them are old."""
    if not len(rows) or not len(more):
        return rows if len(rows) else more
    both = np.concatenate((rows, more))
    return _shortened(both, minutes) if len(both) // SOME_ROWS > len(rows) // SOME_ROWS else both


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


WINDOWS = 4
MAPS = WINDOWS * len(GRIDS)
MOST_CELLS = WINDOWS * sum(across * along for across, along in GRIDS)
"""All cells of the maps of a player."""

_MAP = pa.struct(
    [
        ("newest", pa.int64()),
        ("grid_x", pa.int32()),
        ("grid_y", pa.int32()),
        ("minutes", pa.int32()),
        ("total", pa.int64()),
        ("cells", pa.list_(pa.int32())),
        ("counts", pa.list_(pa.int32())),
    ]
)


class _Maps:
    """The maps of many players, whose cells lie one after the other."""

    def __init__(self, players: int) -> None:
        self._newest: list[int] = []
        self._minutes: list[int] = []
        self._cells = np.empty(MOST_CELLS + 4096 * players, np.int32)
        self._counts = np.empty_like(self._cells)
        self._totals = np.empty((players, WINDOWS), np.int64)
        self._ends = np.zeros((players, WINDOWS, len(GRIDS)), np.int64)
        self._size = 0

    def add(self, minutes: tuple[int, ...], rows: Any) -> None:
        """The maps of one more player."""
        player, newest, lengths = len(self._newest), int(rows[:, 0].max()), sorted(minutes)
        if self._size + MOST_CELLS > len(self._cells):
            self._cells, self._counts = (np.resize(a, 2 * len(a)) for a in (self._cells, self._counts))
        sinces = np.array([*(newest - 60 * length for length in lengths), LONG_AGO - 1])
        found = (self._cells, self._counts, self._totals[player], self._ends[player])
        self._size = _count(rows, sinces, found, self._size)
        self._newest.append(newest)
        self._minutes += [*lengths, 0]

    def answers(self) -> pa.Array:
        """A list of maps for each player."""
        players = len(self._newest)
        offsets = pa.array(np.concatenate(([0], self._ends.ravel())).astype(np.int32))
        grids = np.tile(np.array(GRIDS, np.int32), (players * WINDOWS, 1))
        columns = [
            np.repeat(np.array(self._newest, np.int64), MAPS),
            np.ascontiguousarray(grids[:, 0]),
            np.ascontiguousarray(grids[:, 1]),
            np.repeat(np.array(self._minutes, np.int32), len(GRIDS)),
            np.repeat(self._totals.ravel(), len(GRIDS)),
        ]
        lists = (pa.ListArray.from_arrays(offsets, pa.array(a[: self._size])) for a in (self._cells, self._counts))
        maps = pa.StructArray.from_arrays([*map(pa.array, columns), *lists], fields=list(_MAP))
        return pa.ListArray.from_arrays(pa.array(np.arange(players + 1) * MAPS, pa.int32()), maps)


BLOCK = 64
"""So many cells of the finest grid are looked at together, if any of them is not empty."""


@numba.njit(cache=True, nogil=True)
def _count(rows: Any, sinces: Any, found: Any, size: int) -> int:
    """For each window, which begins after a second: all readings, and of all grids the cells that are not empty.

    Windows come from the shortest to the longest, each of which holds what the one before does. Cells and their counts
    of all windows and grids are written one after the other behind the first `size`, and where each ends. The answer is
    the new size.
    """
    cells, counts, totals, ends = found
    windows = len(sinces)
    # The rows by the shortest window that holds them.
    of_window = np.empty(len(rows), np.int8)
    begins = np.zeros(windows + 1, np.int64)
    for i in range(len(rows)):
        window = 0
        while rows[i, 0] <= sinces[window]:
            window += 1
        of_window[i] = window
        begins[window + 1] += 1
    for window in range(windows):
        begins[window + 1] += begins[window]
    order = np.empty(len(rows), np.int32)
    places = begins.copy()
    for i in range(len(rows)):
        order[places[of_window[i]]] = i
        places[of_window[i]] += 1
    coarse = np.zeros(8 * 13, np.int32)
    third = np.zeros(16 * 25, np.int32)
    second = np.zeros(32 * 50, np.int32)
    fine = np.zeros(64 * 100, np.int32)
    used = np.zeros(len(fine) // BLOCK, np.bool_)
    total = 0
    for window in range(windows):
        for place in range(begins[window], begins[window + 1]):
            i = order[place]
            code, count = np.uint64(rows[i, 1]), rows[i, 2]
            cell = code // np.uint64(13)
            x, y = cell // np.uint64(100), cell % np.uint64(100)
            a = (x >> np.uint64(3)) * np.uint64(13) + code % np.uint64(13)
            b = (x >> np.uint64(2)) * np.uint64(25) + (y >> np.uint64(2))
            c = (x >> np.uint64(1)) * np.uint64(50) + (y >> np.uint64(1))
            coarse[a] += count
            third[b] += count
            second[c] += count
            fine[cell] += count
            used[cell // np.uint64(BLOCK)] = True
            total += count
        totals[window] = total
        for grid, readings in enumerate((coarse, third, second)):
            for at in range(len(readings)):
                if readings[at]:
                    cells[size], counts[size] = at, readings[at]
                    size += 1
            ends[window, grid] = size
        for block in range(len(used)):
            if used[block]:
                for at in range(block * BLOCK, (block + 1) * BLOCK):
                    if fine[at]:
                        cells[size], counts[size] = at, fine[at]
                        size += 1
        ends[window, 3] = size
    return size


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
