"""The sensors of the match: who wears them, and how often each one sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

TEAMS: Final = ("A", "B")
LIMBS: Final = ("left leg", "right leg", "left arm", "right arm")

WORN: Final[dict[str, tuple[int, ...]]] = {
    "A1": (13, 14, 97, 98),
    "A2": (47, 16),
    "A3": (49, 88),
    "A4": (19, 52),
    "A5": (53, 54),
    "A6": (23, 24),
    "A7": (57, 58),
    "A8": (59, 28),
    "B1": (61, 62, 99, 100),
    "B2": (63, 64),
    "B3": (65, 66),
    "B4": (67, 68),
    "B5": (69, 38),
    "B6": (71, 40),
    "B7": (73, 74),
    "B8": (75, 44),
}
"""The sensors of each player, in the order of `LIMBS`; the first player of a team is its keeper."""

PLAYERS: Final = tuple(WORN)
REFEREE: Final = len(PLAYERS)
"""The place of the referee among those who run: after the players."""
REFEREE_SENSORS: Final = (105, 106)
BALLS: Final = (4, 8, 10, 12)
LATE_BALL: Final = 3
"""The place of the ball that sends only from the break on."""

_PLAYER_PERIODS: Final = (4_570_000_000, 4_970_000_000)
_REFEREE_PERIODS: Final = (5_100_000_000, 5_108_000_000)
_BALL_PERIODS: Final = (488_000_000, 512_000_000, 528_000_000, 504_000_000)
# Each sensor starts a little after the one before, so that not all of them send in the same instant.
_PHASE: Final = 113_000_000


@dataclass(frozen=True)
class Sensor:
    """A sensor: its number, what carries it, and when it sends (in picoseconds).

    `carrier` is the place of the runner (players, then the referee) or of the ball.
    """

    sid: int
    kind: str
    player_id: str | None
    team: str | None
    limb: int | None
    carrier: int
    period: int
    phase: int


def _sensors() -> tuple[Sensor, ...]:
    legs_and_arms = [(sid, player, limb) for player, worn in enumerate(WORN.values()) for limb, sid in enumerate(worn)]
    low, high = _PLAYER_PERIODS
    count = len(legs_and_arms)
    found = []
    for place, (sid, player, limb) in enumerate(legs_and_arms):
        # Seven steps around the circle: neighbours get periods that lie far apart.
        period = low + (high - low) * (place * 7 % count) // (count - 1)
        name = PLAYERS[player]
        found.append(Sensor(sid, "player", name, name[0], limb, player, period, place * _PHASE))
    for limb, (sid, period) in enumerate(zip(REFEREE_SENSORS, _REFEREE_PERIODS, strict=True)):
        found.append(Sensor(sid, "referee", None, None, limb, REFEREE, period, len(found) * _PHASE))
    for ball, (sid, period) in enumerate(zip(BALLS, _BALL_PERIODS, strict=True)):
        found.append(Sensor(sid, "ball", None, None, None, ball, period, (ball + 1) * _PHASE))
    return tuple(found)


SENSORS: Final = _sensors()


def sensor_table() -> pa.Table:
    """The table (sid, kind, player_id, team, limb) that goes beside the events.

    >>> sensor_table().slice(2, 2).to_pylist()[0]
    {'sid': 97, 'kind': 'player', 'player_id': 'A1', 'team': 'A', 'limb': 'left arm'}
    """
    return pa.table(
        {
            "sid": pa.array([s.sid for s in SENSORS], pa.int32()),
            "kind": pa.array([s.kind for s in SENSORS], pa.string()),
            "player_id": pa.array([s.player_id for s in SENSORS], pa.string()),
            "team": pa.array([s.team for s in SENSORS], pa.string()),
            "limb": pa.array([None if s.limb is None else LIMBS[s.limb] for s in SENSORS], pa.string()),
        }
    )
