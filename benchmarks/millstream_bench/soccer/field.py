"""The field in metres: x runs along its short side, y from goal to goal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

Floats = np.ndarray

X_LOW: Final = 0.0
X_HIGH: Final = 52.483
Y_LOW: Final = -33.960
Y_HIGH: Final = 33.965
CENTRE: Final = ((X_LOW + X_HIGH) / 2, 0.0)
GRAVITY: Final = 9.81
BALL_RADIUS: Final = 0.11


@dataclass(frozen=True)
class Goal:
    """A goal: its line, and its mouth from post to post below the bar. `side` is the sign of its y."""

    y: float
    left: float
    right: float
    side: int
    bar: float = 2.440

    @property
    def middle(self) -> float:
        """Half way between the posts."""
        return (self.left + self.right) / 2


GOALS: Final = (Goal(33.941, 22.5785, 29.8985, 1), Goal(-33.968, 22.560, 29.880, -1))


def attacked(team: str, half: int) -> Goal:
    """The goal of the team's opponent. A defends y < 0 in the first half; then sides are swapped.

    >>> attacked("A", 1).y, attacked("A", 2).y
    (33.941, -33.968)
    """
    return GOALS[0] if (team == "A") == (half == 1) else GOALS[1]


def crossing(goal: Goal, place: Floats, velocity: Floats) -> tuple[Floats, Floats, Floats]:
    """When a ball that goes straight on crosses the line of the goal, and its x and z there; gravity is left out.

    Places and velocities are arrays (..., 3). A ball that never gets there has the time infinity.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        time = (goal.y - place[..., 1]) / velocity[..., 1]
    time = np.where(np.isfinite(time) & (time > 0), time, np.inf)
    finite = np.where(np.isfinite(time), time, 0.0)
    return time, place[..., 0] + velocity[..., 0] * finite, place[..., 2] + velocity[..., 2] * finite


def threatens(place: Floats, velocity: Floats, *, margin: float, horizon: float) -> Floats:
    """Whether a ball that goes straight on crosses the line of either goal near its mouth before the horizon."""
    found = np.zeros(place.shape[:-1], dtype=bool)
    for goal in GOALS:
        time, x, z = crossing(goal, place, velocity)
        beside = (x > goal.left - margin) & (x < goal.right + margin)
        fallen = z - GRAVITY * np.minimum(time, horizon) ** 2 / 2
        found |= (time < horizon) & beside & (fallen < goal.bar + margin)
    return found
