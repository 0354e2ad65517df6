"""Readings of all sensors in the order of their times, made from the script for any stretch of time.

A reading depends on the script, its sensor and its time alone: however the match is cut, the readings are the same.
"""

from __future__ import annotations

from typing import Final

import numba
import numpy as np
import pyarrow as pa

from millstream_bench.soccer.clock import FIRST, PICOS
from millstream_bench.soccer.paths import read
from millstream_bench.soccer.script import Script
from millstream_bench.soccer.sensors import LATE_BALL, SENSORS

Numbers = np.ndarray

COLUMNS: Final = ("sid", "ts", "x", "y", "z", "v", "a", "vx", "vy", "vz", "ax", "ay", "az")
"""The thirteen numbers of a reading, as the challenge has them."""
SCHEMA: Final = pa.schema(
    pa.field(name, type_, nullable=False)
    for name, type_ in [
        *((name, pa.int64() if name in {"ts", "v", "a"} else pa.int32()) for name in COLUMNS),
        ("time", pa.timestamp("us", tz="UTC")),
    ]
)
MOST_DISORDER: Final = 60_000
"""Milliseconds."""


class Readings:
    """The readings of a match; with disorder, each one arrives up to so many milliseconds late."""

    def __init__(self, script: Script, *, seed: int = 0, disorder: int = 0) -> None:
        self._knots = script.knots
        self._pieces = np.concatenate(script.balls)
        self._first_pieces = np.cumsum([0, *(len(b) for b in script.balls)])
        self._sids = np.array([s.sid for s in SENSORS], dtype=np.int32)
        self._is_ball = np.array([s.kind == "ball" for s in SENSORS])
        self._carriers = np.array([s.carrier for s in SENSORS])
        self._limbs = np.array([-1 if s.limb is None else s.limb for s in SENSORS])
        self._periods = np.array([s.period for s in SENSORS])
        self._phases = np.array([s.phase for s in SENSORS]) + FIRST
        late = np.array([s.kind == "ball" and s.carrier == LATE_BALL for s in SENSORS])
        self._starts = np.where(late, script.clock.halves[0].ends * PICOS, FIRST)
        self._seed, self._disorder = seed, disorder * PICOS * 1000
        self.ends = script.clock.ends * PICOS + self._disorder
        """When the last reading has arrived, in picoseconds."""
        self._last = script.clock.ends * PICOS

    def between(self, begins: int, ends: int) -> pa.Table:
        """The readings that arrive in [begins, ends), picoseconds, in that order."""
        sensors, times = self._sent(begins - self._disorder, min(ends, self._last))
        if self._disorder:
            arrival = times + self._delays(sensors, times)
            kept = np.flatnonzero((arrival >= begins) & (arrival < ends))
            kept = kept[np.argsort(arrival[kept], kind="stable")]
            sensors, times = sensors[kept], times[kept]
        wide = np.empty((3, len(times)), dtype=np.int64)
        narrow = np.empty((9, len(times)), dtype=np.int32)
        read(
            self._knots,
            self._pieces,
            self._first_pieces,
            self._is_ball,
            self._carriers,
            self._limbs,
            sensors,
            times,
            wide,
            narrow,
        )
        v, a, micros = wide
        x, y, z, *directions = narrow
        arrays = [self._sids[sensors], times, x, y, z, v, a, *directions, micros]
        return pa.table([pa.array(n).cast(f.type) for n, f in zip(arrays, SCHEMA, strict=True)], schema=SCHEMA)

    def _sent(self, begins: int, ends: int) -> tuple[Numbers, Numbers]:
        """The sensors and times of the readings that are sent in [begins, ends)."""
        first = np.maximum(begins, self._starts)
        low = np.maximum(-(-(first - self._phases) // self._periods), 0)
        high = np.maximum(-(-(ends - self._phases) // self._periods), low)
        sensors, times = np.empty(int((high - low).sum()), dtype=np.int64), np.empty(int((high - low).sum()), np.int64)
        _merge(self._phases + low * self._periods, self._phases + high * self._periods, self._periods, sensors, times)
        return sensors, times

    def _delays(self, sensors: Numbers, times: Numbers) -> Numbers:
        """A delay for each reading, from its sensor and time alone: splitmix64."""
        with np.errstate(over="ignore"):
            mixed = times.astype(np.uint64) + (
                sensors.astype(np.uint64) + np.uint64((self._seed * 64 + 1) % 2**64)
            ) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed ^= mixed >> np.uint64(31)
        delays: Numbers = mixed % np.uint64(self._disorder + 1)
        return delays.astype(np.int64)


@numba.njit(cache=True, nogil=True)
def _merge(following: Numbers, ends: Numbers, periods: Numbers, sensors: Numbers, times: Numbers) -> None:
    """Write the times of all sensors in order. There are few sensors: the earliest is found by looking at all."""
    endless = np.iinfo(np.int64).max
    for sensor in range(len(following)):
        if following[sensor] >= ends[sensor]:
            following[sensor] = endless
    for i in range(len(times)):
        earliest = 0
        for sensor in range(1, len(following)):
            if following[sensor] < following[earliest]:
                earliest = sensor
        sensors[i] = earliest
        times[i] = following[earliest]
        following[earliest] += periods[earliest]
        if following[earliest] >= ends[earliest]:
            following[earliest] = endless
