"""The way of a ball: pieces of constant acceleration, each beginning where and as fast as the last one ended.

A kick is a piece of 10 ms that turns the velocity before it into the one after it; so is a bounce. In a flight gravity
bends the way, and is left out of the acceleration that a sensor tells.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from millstream_bench.soccer.field import BALL_RADIUS, GRAVITY

Floats = np.ndarray

CONTACT: Final = 0.010
"""Seconds that a kick or a bounce takes."""
PIECE: Final = 11
"""Numbers of a piece: when it begins, place, velocity, acceleration, and how much of gravity is in that."""

ROLLING: Final = 1.0
"""What slows a rolling ball, in m/s^2."""
DRIBBLED: Final = 4.0
"""What slows a ball between two touches of one player: it is played into its own way."""
KEPT: Final = 0.6
"""The share of the speed upwards after a bounce; the time in the air shrinks alike."""
KEPT_ALONG: Final = 0.75
"""The share of the speed along the ground after a bounce."""
_OUT: Final = 30.0
_DOWN: Final = np.array((0.0, 0.0, -GRAVITY))
_STILL: Final = np.zeros(3)


class Ball:
    """A ball as its way is made, piece by piece."""

    def __init__(self, place: Floats) -> None:
        self.time, self.place, self.velocity = 0.0, place, _STILL
        self._pieces: list[tuple[float, Floats, Floats, Floats, float]] = []
        self._add(0.0, _STILL)

    def pieces(self) -> Floats:
        """All pieces (n, 11); the last one goes on for ever."""
        return np.array([(t, *p, *v, *a, g) for t, p, v, a, g in self._pieces])

    def wait(self, until: float) -> None:
        """Lie still."""
        self.time = max(self.time, until)
        self._add(0.0, _STILL)

    def meet(self, velocity: Floats) -> None:
        """A kick or a bounce: take on another velocity."""
        self._add(CONTACT, (velocity - self.velocity) / CONTACT)
        self.velocity = velocity

    def roll(self, until: float, acceleration: Floats) -> None:
        """Roll until a time."""
        self._add(until - self.time, acceleration)

    def fly(self, until: float, drag: Floats = _STILL) -> None:
        """Fly until a time."""
        self._add(until - self.time, _DOWN + drag, gravity=GRAVITY)

    def stop(self, slowing: float) -> None:
        """Come to rest on the ground."""
        speed = float(np.hypot(*self.velocity[:2]))
        if speed > 0:
            self._add(speed / slowing, self.velocity * (-slowing / speed))
        self.velocity = _STILL
        self._add(0.0, _STILL)

    def stop_outside(self) -> None:
        """Come to rest behind the line: something there slows the ball, and it falls to the ground."""
        height = float(self.place[2]) - BALL_RADIUS
        rising = float(self.velocity[2])
        if height < 0.02 and abs(rising) < 0.5:
            self.stop(_OUT)
            return
        lands = (rising + math.sqrt(rising * rising + 2 * GRAVITY * max(height, 0.0))) / GRAVITY
        speed = float(np.hypot(*self.velocity[:2]))
        slowed = speed / _OUT
        drag = np.array((*(-_OUT * self.velocity[:2] / max(speed, 1e-9)), 0.0))
        start = self.time
        self.fly(start + min(lands, slowed), drag)
        if slowed < lands:
            self.velocity = np.array((0.0, 0.0, self.velocity[2]))
            self.fly(start + lands)
        self.meet(self.velocity * (0.5, 0.5, 0.0))
        self.stop(_OUT / 2)

    def carry(self, place: Floats, until: float) -> None:
        """Be brought somewhere, gently, and lie there from the time on."""
        lasts = until - self.time
        push = (place - self.place) * 4 / lasts**2
        self._add(lasts / 2, push)
        self._add(lasts / 2, -push)
        self.place, self.velocity = place, _STILL
        self._add(0.0, _STILL)

    def _add(self, lasts: float, acceleration: Floats, gravity: float = 0.0) -> None:
        self._pieces.append((self.time, self.place, self.velocity, acceleration, gravity))
        self.time += lasts
        self.place = self.place + self.velocity * lasts + acceleration * (lasts * lasts / 2)
        self.velocity = self.velocity + acceleration * lasts


def rolled(start: Floats, before: Floats, ends: Floats, lasts: Floats, slowing: Floats | float) -> tuple[Floats, ...]:
    """The velocities after kicks at `start` that roll to `ends` (n, 3) in so many seconds, there, and the slowing.

    `before` is the velocity before the kick. The kick itself is a part of the time.
    """
    way = ends - start
    length = np.maximum(np.linalg.norm(way[..., :2], axis=-1, keepdims=True), 1e-9)
    slow = -np.asarray(slowing)[..., None] * way / length
    slow[..., 2] = 0.0
    return *_kick(start, before, ends, lasts, slow), slow


def flown(start: Floats, before: Floats, ends: Floats, lasts: Floats) -> tuple[Floats, Floats]:
    """The velocities after kicks that fly to `ends` in so many seconds, and there."""
    return _kick(start, before, ends, lasts, _DOWN)


def bounced(start: Floats, before: Floats, ends: Floats, lasts: float) -> tuple[Floats, Floats, float]:
    """The velocity after a kick that flies to the end with one bounce, that before the bounce, and when that is.

    The bounce is on the ground, and the second flight is shorter than the first one as the ball rises less.
    """
    first = (lasts - 2 * CONTACT) / (1 + KEPT)
    second = first * KEPT
    reach = CONTACT / 2 + first + CONTACT * (1 + KEPT_ALONG) / 2 + second * KEPT_ALONG
    velocity = (ends - start - before * CONTACT / 2) / reach
    low = start[2] + before[2] * CONTACT / 2
    # From the height after the kick down to the ground in the time of the first flight.
    velocity[2] = (BALL_RADIUS - low + GRAVITY * first**2 / 2) / (CONTACT / 2 + first)
    return velocity, velocity + _DOWN * first, CONTACT + first


def _kick(start: Floats, before: Floats, ends: Floats, lasts: Floats, push: Floats) -> tuple[Floats, Floats]:
    free = (np.asarray(lasts) - CONTACT)[..., None]
    after = (ends - start - before * (CONTACT / 2) - push * free**2 / 2) / (free + CONTACT / 2)
    return after, after + push * free
