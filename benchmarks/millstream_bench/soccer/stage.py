"""Where players could touch the ball: their limbs at a time, and whether anyone else is near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from millstream_bench.soccer.field import BALL_RADIUS
from millstream_bench.soccer.paths import centres, limb_states
from millstream_bench.soccer.sensors import PLAYERS

Floats = np.ndarray

ALONE: Final = 2.2
"""So far the others are from a player who touches the ball; their limbs are up to 0.3 m nearer."""
BOUNCE_ALONE: Final = 3.7
"""So far all players are from a bounce."""


@dataclass(frozen=True)
class Touch:
    """A player at the ball: when, where the ball is, and how fast it comes."""

    player: int
    time: float
    place: Floats
    before: Floats

    @property
    def team(self) -> str:
        """The player's team."""
        return PLAYERS[self.player][0]


@dataclass(frozen=True)
class Chances:
    """Where players could touch the ball next: one entry for each in every array."""

    players: Floats
    times: Floats
    places: Floats

    def at(self, chosen: Floats) -> Chances:
        """Some of them."""
        return Chances(self.players[chosen], self.times[chosen], self.places[chosen])


class Stage:
    """The players on their ways, for those who plan the play."""

    def __init__(self, knots: Floats) -> None:
        self._knots = knots
        self._players = knots[: len(PLAYERS)]

    def chances(self, players: Floats, times: Floats, limbs: Floats) -> Chances:
        """The touches of players at times, with a ball on the ground for legs; those with company are left out."""
        times = np.round(times, 6)
        places = limb_states(self._knots, players, times, limbs)[:, :3]
        places[limbs < 2, 2] = BALL_RADIUS
        others = self._distances(times, places)
        others[players, np.arange(len(times))] = np.inf
        return Chances(players, times, places).at(others.min(axis=0) > ALONE)

    def speed(self, player: int, time: float) -> float:
        """How fast a player is."""
        one = limb_states(self._knots, np.array([player]), np.array([time]), np.array([-1]))
        return float(np.hypot(one[0, 3], one[0, 4]))

    def deserted(self, time: float, place: Floats) -> bool:
        """Whether a bounce is far from all players."""
        return bool(self._distances(np.array([time]), place[None]).min() > BOUNCE_ALONE)

    def _distances(self, times: Floats, places: Floats) -> Floats:
        away = centres(self._players, times) - places[None, :, :2]
        found: Floats = np.hypot(away[..., 0], away[..., 1])
        return found
