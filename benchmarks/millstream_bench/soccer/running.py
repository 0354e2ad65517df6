"""How the players run: straight runs through the classes of intensity, with a turn on the spot between two of them.

Turns are taken while standing, so the way a player goes in a second is as long as the straight line between its ends,
but for the seconds in which it stops and turns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numba
import numpy as np

from millstream_bench.soccer.clock import Clock
from millstream_bench.soccer.field import X_HIGH, X_LOW, Y_HIGH, Y_LOW
from millstream_bench.soccer.paths import CHANNELS, STEP
from millstream_bench.soccer.sensors import PLAYERS, REFEREE

Floats = np.ndarray

INTENSITIES: Final = ("standing", "trot", "low", "medium", "high", "sprint")
BOUNDS: Final = (1.0, 11.0, 14.0, 17.0, 24.0)
"""Where a class ends and the next begins, in km/h."""

_SPEEDS: Final = ((0.0, 0.0), (3.0, 10.0), (11.6, 13.4), (14.6, 16.4), (18.0, 23.0), (25.5, 30.0))
_GAIN: Final = 4.0
_BRAKE: Final = 5.0
_TURN_RATE: Final = 1.4
_REST: Final = (1.3, 3.5)
_SHORT_SHARE: Final = 0.2
_SHORT: Final = (0.4, 0.9)
_HELD: Final = (2.0, 6.0)
_SALLIES: Final = 0.08


@dataclass(frozen=True)
class Zone:
    """Where a runner stays, in shares of the field: `across` along x, `ahead` from its own goal to the other one.

    Now and then it comes out, up to the share `sally`. The weights are those of the classes from trot to sprint.
    """

    across: tuple[float, float]
    ahead: tuple[float, float]
    weights: tuple[float, ...]
    sally: float = 0.0


_KEEPER: Final = (0.42, 0.16, 0.12, 0.13, 0.17)
_FIELD: Final = (0.24, 0.18, 0.18, 0.20, 0.20)
ZONES: Final = (
    Zone((0.41, 0.59), (0.03, 0.09), _KEEPER, sally=0.36),
    Zone((0.05, 0.40), (0.12, 0.58), _FIELD),
    Zone((0.30, 0.70), (0.14, 0.55), _FIELD),
    Zone((0.60, 0.95), (0.12, 0.58), _FIELD),
    Zone((0.08, 0.55), (0.30, 0.82), _FIELD),
    Zone((0.45, 0.92), (0.30, 0.82), _FIELD),
    Zone((0.20, 0.60), (0.52, 0.93), _FIELD),
    Zone((0.40, 0.80), (0.52, 0.93), _FIELD),
)
_REFEREE_ZONE: Final = Zone((0.15, 0.85), (0.2, 0.8), (0.6, 0.2, 0.1, 0.08, 0.02))


def knots(seed: int, times: Clock) -> Floats:
    """The knots (runner, knot, channel) of the players' and the referee's curves for the whole match."""
    count = math.ceil(times.length / STEP) + 5
    found = np.empty((REFEREE + 1, count, CHANNELS))
    for runner in range(REFEREE + 1):
        found[runner] = _Runner(runner, np.random.default_rng([seed, 1, runner]), times).run(count)
    return found


@numba.njit(cache=True)
def _profile(targets: Floats, distance: float, step: float) -> Floats:
    """Speeds that follow the targets as fast as a player can, and come to rest after the distance."""
    found = np.zeros(len(targets))
    speed = 0.0
    gone = 0.0
    braking = False
    for i in range(len(targets)):
        braking = braking or distance - gone <= speed * speed / (2 * _BRAKE) + speed * step
        target = 0.0 if braking else targets[i]
        speed = min(target, speed + _GAIN * step) if target > speed else max(target, speed - _BRAKE * step)
        gone += speed * step
        found[i] = speed
    return found


class _Runner:
    """Plans the runs of one player, one after the other."""

    def __init__(self, runner: int, rng: np.random.Generator, times: Clock) -> None:
        self._rng = rng
        self._team = PLAYERS[runner][0] if runner < REFEREE else "A"
        self._zone = ZONES[runner % len(ZONES)] if runner < REFEREE else _REFEREE_ZONE
        self._half_time, self._second_half = times.halves[0].seconds[1], times.halves[1].seconds[0]
        self._place = self._target(first_half=True)
        self._facing = rng.uniform(-math.pi, math.pi)
        self._speeds: list[Floats] = [np.zeros(1)]
        self._facings: list[Floats] = [np.full(1, self._facing)]
        self._knots = 1
        self._swapped = False

    def run(self, count: int) -> Floats:
        """The knots of the whole match."""
        start = self._place
        while self._knots < count:
            self._one_run()
        speed, facing = np.concatenate(self._speeds)[:count], np.concatenate(self._facings)[:count]
        found = np.empty((count, CHANNELS))
        found[:, 0] = start[0] + np.cumsum(speed * np.cos(facing)) * STEP
        found[:, 1] = start[1] + np.cumsum(speed * np.sin(facing)) * STEP
        found[:, 2] = np.cumsum(speed) * STEP
        found[:, 3] = facing
        return found

    def _target(self, *, first_half: bool) -> tuple[float, float]:
        across, ahead = self._rng.uniform(*self._zone.across), self._rng.uniform(*self._zone.ahead)
        if self._zone.sally and self._rng.random() < _SALLIES:
            ahead = self._rng.uniform(self._zone.ahead[1], self._zone.sally)
        if (self._team == "A") != first_half:
            across, ahead = 1 - across, 1 - ahead
        return X_LOW + across * (X_HIGH - X_LOW), Y_LOW + ahead * (Y_HIGH - Y_LOW)

    def _away(self, place: tuple[float, float]) -> float:
        return math.hypot(place[0] - self._place[0], place[1] - self._place[1])

    def _one_run(self) -> None:
        """Turn towards a place and rest, then run there."""
        now = self._knots * STEP
        over = now >= self._half_time
        # The farther of two places: a sprint takes room.
        target = max((self._target(first_half=not over) for _ in range(2)), key=self._away)
        way = self._away(target)
        direction = math.atan2(target[1] - self._place[1], target[0] - self._place[0])
        turn = (direction - self._facing + math.pi) % (2 * math.pi) - math.pi
        if over and not self._swapped:
            self._swapped = True
            rest = abs(turn) / _TURN_RATE + 0.4
            speed = max(1.5, way / max(self._second_half - now - rest - 4.0, 1.0))
            targets = np.full(math.ceil((way / speed + 5) / STEP), speed)
        else:
            rest = max(self._rng.uniform(*_REST), abs(turn) / _TURN_RATE + 0.4)
            targets = self._classes(way)
            if not over:  # at half-time a player stops whatever it does
                targets = targets[: max(0, math.ceil((self._half_time - now - rest) / STEP))]
        self._append(rest, turn, np.concatenate((targets, np.zeros(20))), way)

    def _classes(self, way: float) -> Floats:
        """The speeds of a run: classes held for some seconds, some of them for less than one."""
        parts: list[Floats] = []
        left = way * 1.4
        current = -1
        while left > 0:
            chosen = 1 + int(self._rng.choice(len(INTENSITIES) - 1, p=self._zone.weights))
            lasts = self._rng.uniform(*_HELD)
            if current > 0 and self._rng.random() < _SHORT_SHARE:
                chosen = min(max(current + (1 if self._rng.random() < 0.5 else -1), 1), len(INTENSITIES) - 1)
                lasts = self._rng.uniform(*_SHORT)
            speed = self._rng.uniform(*_SPEEDS[chosen]) / 3.6
            parts.append(np.full(math.ceil(lasts / STEP), speed))
            left -= speed * lasts
            current = chosen
        return np.concatenate(parts)

    def _append(self, rest: float, turn: float, targets: Floats, way: float) -> None:
        speed = _profile(targets, way, STEP)
        moving = int(np.flatnonzero(speed)[-1]) + 3 if speed.any() else 0
        speed = speed[:moving]
        standing = math.ceil(rest / STEP)
        ramp = np.clip((np.arange(standing) - 1) / max(standing - 4, 1), 0, 1)
        self._facings.append(self._facing + turn * ramp)
        self._facing += turn
        self._facings.append(np.full(len(speed), self._facing))
        self._speeds += [np.zeros(standing), speed]
        self._knots += standing + len(speed)
        gone = float(speed.sum()) * STEP
        self._place = (self._place[0] + gone * math.cos(self._facing), self._place[1] + gone * math.sin(self._facing))
