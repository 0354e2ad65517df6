"""What a player can do with the ball: dribble, pass, clear it over a side line.

Each move is found by trial: of many places and times where it could end, those stay that make a clear kick and never
point at a goal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from millstream_bench.soccer.ball import CONTACT, DRIBBLED, KEPT, KEPT_ALONG, ROLLING, Ball, bounced, flown, rolled
from millstream_bench.soccer.field import X_HIGH, X_LOW, Y_HIGH, Y_LOW, Goal, threatens
from millstream_bench.soccer.sensors import PLAYERS
from millstream_bench.soccer.stage import Chances, Stage, Touch

Floats = np.ndarray

CLEAR_KICK: Final = 1.2
"""The least change of the ball's velocity, in m/s: 120 m/s^2 over the time of a kick."""
HIGH: Final = 0.4
"""A ball above this is thrown or falls; it cannot roll."""
_MARGIN: Final = 3.6
_HORIZON: Final = 1.9
_TEAM_SHARE: Final = 0.8


@dataclass(frozen=True)
class Move:
    """What happens to the ball from a kick to the next one, or until it leaves the field (then `chance` is None).

    `slowing` is None for a flight; `bounce` is the time of a bounce after the kick. `on_goal` is None but for shots.
    """

    ends: float
    after: Floats
    slowing: Floats | None
    chance: Chances | None = None
    bounce: float | None = None
    on_goal: bool | None = None

    def play(self, ball: Ball, until: float | None = None) -> None:
        """Move the ball to the end, or until it is stopped."""
        start = ball.time
        until = self.ends if until is None else until
        ball.meet(self.after)
        if self.slowing is not None:
            ball.roll(until, self.slowing)
            return
        if self.bounce is not None:
            ball.fly(start + self.bounce)
            ball.meet(ball.velocity * (KEPT_ALONG, KEPT_ALONG, -KEPT))
        ball.fly(until)


def dribble(stage: Stage, touch: Touch, rng: np.random.Generator) -> Move | None:
    """The same player again, a little later on its way."""
    if touch.place[2] > HIGH or stage.speed(touch.player, touch.time) < 1.5:
        return None
    lasts = rng.uniform(0.4, 0.95, 8)
    players = np.full(len(lasts), touch.player)
    return _rolled(stage.chances(players, touch.time + lasts, rng.integers(0, 2, len(lasts))), touch, DRIBBLED, rng)


def low_pass(stage: Stage, touch: Touch, goal: Goal, rng: np.random.Generator, urge: float) -> Move | None:
    """A ball that rolls to another player."""
    if touch.place[2] > HIGH:
        return None
    chances = _receivers(stage, touch, rng, np.arange(0.5, 2.7, 0.1))
    speed = _way(touch, chances) / (chances.times - touch.time)
    chances = chances.at((speed > 5) & (speed < 17) & (_way(touch, chances) > 3))
    return _rolled(chances, touch, ROLLING, rng, _liking(touch, chances, goal, urge))


def high_pass(
    stage: Stage, touch: Touch, goal: Goal, rng: np.random.Generator, urge: float, *, bounce: bool
) -> Move | None:
    """A ball that flies to another player, with a bounce on the way if that can be far from everyone."""
    high = bool(touch.place[2] > HIGH)
    chances = _receivers(stage, touch, rng, np.arange(0.6 if high else 1.1, 2.9, 0.1))
    way = _way(touch, chances)
    speed = way / (chances.times - touch.time)
    chances = chances.at((speed > 6) & (speed < 21) & (way > (4 if high else 13)))
    after, there = flown(touch.place, touch.before, chances.places, chances.times - touch.time)
    chosen = choose(_fair(touch, after, there, chances.places), rng, _liking(touch, chances, goal, urge))
    if chosen is None:
        return None
    chance = chances.at(np.array([chosen]))
    end = float(chance.times[0])
    if bounce and not high:
        kick, landing, when = bounced(touch.place, touch.before, chance.places[0], end - touch.time)
        where = touch.place + (touch.before + kick) * (CONTACT / 2) + kick * (when - CONTACT)
        slower = kick * (KEPT_ALONG, KEPT_ALONG, 0.0)
        fair = _fair(touch, kick[None], slower[None], chance.places)[0]
        if fair and landing[2] < -2 and stage.deserted(touch.time + when, where):
            return Move(end, kick, None, chance, when)
    return Move(end, after[chosen], None, chance)


def clearance(touch: Touch, rng: np.random.Generator) -> Move:
    """A ball over a side line. There is always a way to do it, so every play can go on."""
    count = 64
    while True:
        sides = np.where(rng.random(count) < 0.5, X_LOW, X_HIGH)
        y = np.clip(touch.place[1] + rng.uniform(-14, 14, count), Y_LOW + 3, Y_HIGH - 3)
        flies = touch.place[2] > HIGH
        z = rng.uniform(0.6, 1.6, count) if flies else np.full(count, touch.place[2])
        ends = np.column_stack((sides, y, z))
        way = np.hypot(*(ends - touch.place)[:, :2].T)
        lasts = np.round(way / rng.uniform(10, 17, count), 6)
        possible = (lasts > 0.3) & (lasts < 4)
        if flies:
            after, there = flown(touch.place, touch.before, ends, lasts)
            slowing = None
        else:
            after, there, slowing = rolled(touch.place, touch.before, ends, lasts, ROLLING)
        # The nearer side line is the more likely one.
        chosen = choose(possible & _fair(touch, after, there, ends), rng, np.exp(-way / 8))
        if chosen is not None:
            slow = None if slowing is None else slowing[chosen]
            return Move(touch.time + float(lasts[chosen]), after[chosen], slow)


def clear_kick(touch: Touch, after: Floats) -> Floats:
    """Whether kicks change the ball's velocity enough to be seen."""
    change: Floats = np.linalg.norm(after - touch.before, axis=-1)
    return change > CLEAR_KICK


def _receivers(stage: Stage, touch: Touch, rng: np.random.Generator, lasts: Floats) -> Chances:
    others = np.array([p for p in range(len(PLAYERS)) if p != touch.player])
    players, later = (a.ravel() for a in np.meshgrid(others, lasts + rng.uniform(0, 0.1), indexing="ij"))
    return stage.chances(players, touch.time + later, rng.integers(0, 2, len(players)))


def _rolled(
    chances: Chances, touch: Touch, slowing: float, rng: np.random.Generator, liking: Floats | None = None
) -> Move | None:
    lasts = chances.times - touch.time
    after, there, slow = rolled(touch.place, touch.before, chances.places, lasts, slowing)
    # A ball that is slowed must not come back.
    onwards = (there * (chances.places - touch.place)).sum(axis=1) > 0.2 * _way(touch, chances)
    chosen = choose(onwards & _fair(touch, after, there, chances.places), rng, liking)
    if chosen is None:
        return None
    chance = chances.at(np.array([chosen]))
    return Move(float(chance.times[0]), after[chosen], slow[chosen], chance)


def _fair(touch: Touch, after: Floats, there: Floats, ends: Floats) -> Floats:
    """Whether kicks can be seen, and point at no goal from their beginning to their end."""
    flat = (1.0, 1.0, 0.0)
    starts = np.broadcast_to(touch.place, after.shape)
    dangerous = threatens(starts, after * flat, margin=_MARGIN, horizon=_HORIZON)
    dangerous |= threatens(ends, after * flat, margin=_MARGIN, horizon=_HORIZON)
    dangerous |= threatens(ends, there * flat, margin=_MARGIN, horizon=_HORIZON)
    fair: Floats = clear_kick(touch, after) & ~dangerous
    return fair


def _liking(touch: Touch, chances: Chances, goal: Goal, urge: float) -> Floats:
    """How much a player likes its passes: to its own team, not too far, and forward, the more so as it urges."""
    own = np.array([p[0] == touch.team for p in PLAYERS])[chances.players]
    forward = goal.side * (chances.places[:, 1] - touch.place[1])
    cost = _way(touch, chances) / 12 + (chances.times - touch.time) / 2
    share: Floats = np.where(own, _TEAM_SHARE / 7, (1 - _TEAM_SHARE) / 8)
    liking: Floats = share * np.exp(min(0.08 + 0.02 * urge, 0.3) * forward - cost)
    return liking


def _way(touch: Touch, chances: Chances) -> Floats:
    away = chances.places - touch.place
    found: Floats = np.hypot(away[:, 0], away[:, 1])
    return found


def choose(possible: Floats, rng: np.random.Generator, liking: Floats | None = None) -> int | None:
    """One of those that are possible, or None."""
    found = np.flatnonzero(possible)
    if not len(found):
        return None
    weights = None if liking is None else liking[found] / liking[found].sum()
    return int(rng.choice(found, p=weights))
