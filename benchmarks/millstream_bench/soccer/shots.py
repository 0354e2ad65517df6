"""Shots: at the goal, past it, or into the arms of the keeper.

A shot flies, so that its way is the same whether one projects it at its beginning or later. Those at the goal are so
short that they cross its mouth half a metre from posts and bar even if gravity is left out of the projection; those
past it miss by more than 3 metres.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from millstream_bench.soccer.ball import flown
from millstream_bench.soccer.field import GRAVITY, Y_HIGH, Y_LOW, Goal
from millstream_bench.soccer.moves import HIGH, Move, choose, clear_kick
from millstream_bench.soccer.sensors import PLAYERS
from millstream_bench.soccer.stage import Stage, Touch

Floats = np.ndarray

_TRIALS: Final = 96
_INSIDE: Final = 0.75
_HIGHEST: Final = 1.8
_BESIDE: Final = (3.8, 9.0)
_ABOVE: Final = (6.3, 8.5)
_SPEED: Final = (19.0, 31.0)
_STEEPEST: Final = 15.0
_RANGE: Final = (5.0, 16.0)


def shot(stage: Stage, touch: Touch, goal: Goal, rng: np.random.Generator) -> Move | None:
    """A shot of any kind, if the player is near enough to the goal."""
    if not _RANGE[0] < abs(goal.y - touch.place[1]) < _RANGE[1] or touch.place[2] > HIGH:
        return None
    kind = rng.random()
    if kind < 0.6:
        found = _saved(stage, touch, goal, rng)
        if found:
            return found
    return _free(touch, goal, rng, at_goal=kind < 0.75)


def _free(touch: Touch, goal: Goal, rng: np.random.Generator, *, at_goal: bool) -> Move | None:
    """A shot that nobody stops."""
    across, up = rng.random(_TRIALS), rng.random(_TRIALS)
    if at_goal:
        x = goal.left + _INSIDE + across * (goal.right - goal.left - 2 * _INSIDE)
    else:
        beside = _BESIDE[0] + across * (_BESIDE[1] - _BESIDE[0])
        x = np.where(rng.random(_TRIALS) < 0.5, goal.left - beside, goal.right + beside)
        above = rng.random(_TRIALS) < 0.3
        x = np.where(above, goal.left + across * (goal.right - goal.left), x)
    lasts = np.hypot(x - touch.place[0], goal.y - touch.place[1]) / rng.uniform(*_SPEED, _TRIALS)
    if at_goal:
        room = _HIGHEST - GRAVITY * lasts**2 / 2 - 0.25
        z = 0.25 + up * room
        possible = room > 0
    else:
        z = np.where(above, _ABOVE[0] + up * (_ABOVE[1] - _ABOVE[0]), 0.3 + up * 2)
        possible = lasts < 1.0
    after, _ = flown(touch.place, touch.before, np.column_stack((x, np.full(_TRIALS, goal.y), z)), lasts)
    possible &= clear_kick(touch, after) & (after[:, 2] < _STEEPEST)
    chosen = choose(possible, rng)
    if chosen is None:
        return None
    # The field ends a few millimetres before or behind the line of the goal.
    line = Y_HIGH if goal.side > 0 else Y_LOW
    ends = touch.time + lasts[chosen] + (line - goal.y) / after[chosen, 1]
    return Move(round(float(ends), 6), after[chosen], None, on_goal=at_goal)


def _saved(stage: Stage, touch: Touch, goal: Goal, rng: np.random.Generator) -> Move | None:
    """A shot that would cross the mouth of the goal, if the keeper did not reach it."""
    keeper = PLAYERS.index("B1" if touch.team == "A" else "A1")
    times = touch.time + rng.uniform(0.3, 0.6, _TRIALS)
    chances = stage.chances(np.full(_TRIALS, keeper), times, rng.integers(2, 4, _TRIALS))
    lasts = chances.times - touch.time
    after, there = flown(touch.place, touch.before, chances.places, lasts)
    with np.errstate(divide="ignore", invalid="ignore"):
        on = (goal.y - chances.places[:, 1]) / there[:, 1]
        x = chances.places[:, 0] + there[:, 0] * on
        z = chances.places[:, 2] + there[:, 2] * on - GRAVITY * on**2 / 2
    speed = np.hypot(after[:, 0], after[:, 1])
    possible = (on > 0) & (z > 0.1) & (z + GRAVITY * (lasts + on) ** 2 / 2 < _HIGHEST)
    possible &= (x > goal.left + _INSIDE) & (x < goal.right - _INSIDE)
    possible &= (speed > 12) & (speed < 34) & clear_kick(touch, after)
    chosen = choose(possible, rng)
    if chosen is None:
        return None
    chance = chances.at(np.array([chosen]))
    return Move(float(chance.times[0]), after[chosen], None, chance, on_goal=True)
