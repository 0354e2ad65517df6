"""The play of a match from its seed: who touches the ball when, where it goes, and when play stops."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from millstream_bench.soccer import running
from millstream_bench.soccer.ball import Ball
from millstream_bench.soccer.clock import Clock, Span, clock, micros
from millstream_bench.soccer.field import BALL_RADIUS, CENTRE, attacked
from millstream_bench.soccer.moves import HIGH, Move, clearance, dribble, high_pass, low_pass
from millstream_bench.soccer.sensors import BALLS, LATE_BALL, PLAYERS
from millstream_bench.soccer.shots import shot
from millstream_bench.soccer.stage import Stage, Touch

Floats = np.ndarray

_SHOOT: Final = 0.7
_DRIBBLE: Final = 0.8
_HIGH_PASS: Final = 0.25
_BOUNCE: Final = 0.6
_CLEAR: Final = 0.01
_FOUL: Final = 0.02
_PATIENCE: Final = 15.0
"""After so many seconds without a shot, or without a stop, each further second makes one more likely."""
_OTHER_BALL: Final = 0.3
_STOP: Final = (5.0, 10.0)
_CARRIED: Final = 4.6
_LAST_SECONDS: Final = 4.5
"""So long before the end of a half balls only roll: a rolling ball can be stopped at any time."""
_LAST_HIT: Final = 0.05
_BRAKE: Final = 10.0
_STILL: Final = np.zeros(3)


@dataclass(frozen=True)
class Hit:
    """A touch of the ball, in microseconds."""

    time: int
    player: int


@dataclass(frozen=True)
class Holding:
    """A time [begins, ends) in which a player had the ball, in microseconds."""

    begins: int
    ends: int
    player: int


@dataclass(frozen=True)
class Shot:
    """A shot, when it was kicked and when it was hit again or left the field, in microseconds."""

    time: int
    player: int
    on_goal: bool
    ends: int


@dataclass(frozen=True)
class Script:
    """All that happens in a match."""

    clock: Clock
    knots: Floats
    balls: tuple[Floats, ...]
    hits: tuple[Hit, ...]
    holdings: tuple[Holding, ...]
    shots: tuple[Shot, ...]
    interruptions: tuple[Span, ...]


def script(seed: int, minutes: float) -> Script:
    """The play of a match of so many minutes."""
    times = clock(minutes)
    knots = running.knots(seed, times)
    return _Director(np.random.default_rng([seed, 2]), times, knots).direct()


@dataclass
class _Director:
    """Plays a match from kick-off to the end, and keeps a record."""

    rng: np.random.Generator
    times: Clock
    knots: Floats
    hits: list[Hit] = field(default_factory=list)
    holdings: list[Holding] = field(default_factory=list)
    shots: list[Shot] = field(default_factory=list)
    interruptions: list[Span] = field(default_factory=list)

    def direct(self) -> Script:
        """Play both halves."""
        self._stage = Stage(self.knots)
        self._balls = [Ball(_resting(number)) for number in range(len(BALLS))]
        self._active = 0
        self._holder: Hit | None = None
        self._last_shot = self._last_stop = self.times.halves[0].seconds[0]
        for half in self.times.halves:
            self._play(half)
        return Script(
            self.times,
            self.knots,
            tuple(ball.pieces() for ball in self._balls),
            tuple(self.hits),
            tuple(self.holdings),
            tuple(self.shots),
            tuple(self.interruptions),
        )

    @property
    def _ball(self) -> Ball:
        return self._balls[self._active]

    def _play(self, half: Span) -> None:
        begins, ends = half.seconds
        touch = self._ready(begins + self.rng.uniform(0.3, 0.9), np.array(CENTRE))
        if touch.time > ends - _LAST_HIT:
            return  # too short a half for a kick-off
        if half.half == 1:
            self._balls[0] = Ball(touch.place)
        else:
            self._ball.carry(_resting(self._active), begins - 0.1)
            self._active = LATE_BALL
            self._ball.wait(self.times.halves[0].seconds[1])
            self._ball.carry(touch.place, begins - 0.1)
        while True:
            stopped = self._stretch(touch, half)
            if stopped >= ends:
                return
            following = self._restart(stopped, half)
            if following is None:
                return
            touch = following

    def _stretch(self, touch: Touch, half: Span) -> float:
        """Play from a touch until play stops; the answer says when."""
        end = half.seconds[1]
        self._ball.wait(touch.time)
        while True:
            self._record(touch)
            move = self._decide(touch, half)
            foul = self._foul(touch, move, half)
            # A hit at the very end would be cut short, so there is none.
            if foul or move.ends >= (end if move.chance is None else end - _LAST_HIT):
                whistle = foul or end
                move.play(self._ball, whistle)
                if move.slowing is None:
                    self._ball.stop_outside()
                else:
                    self._ball.stop(_BRAKE)
                self._release(whistle)
                return whistle
            move.play(self._ball)
            if move.on_goal is not None:
                self._last_shot = touch.time
                self.shots.append(Shot(micros(touch.time), touch.player, move.on_goal, micros(move.ends)))
            if move.chance is None:
                self._ball.stop_outside()
                self._release(move.ends)
                return min(end, _whole(move.ends + self.rng.uniform(0.1, 0.8), half))
            player = int(move.chance.players[0])
            touch = Touch(player, move.ends, self._ball.place, self._ball.velocity)

    def _decide(self, touch: Touch, half: Span) -> Move:
        """What a player does with the ball."""
        rng, goal = self.rng, attacked(touch.team, half.half)
        late = touch.time > half.seconds[1] - _LAST_SECONDS
        urge = max(0.0, touch.time - self._last_shot - _PATIENCE)
        weary = max(0.0, touch.time - self._last_stop - _PATIENCE)
        found: Move | None = None
        if rng.random() < _SHOOT + urge and not late:
            found = shot(self._stage, touch, goal, rng)
        if not found and rng.random() < _DRIBBLE / (1 + urge / 10):
            found = dribble(self._stage, touch, rng)
        if not found and rng.random() < _CLEAR * (1 + weary):
            found = clearance(touch, rng)
        if not found and not late and (touch.place[2] > HIGH or rng.random() < _HIGH_PASS):
            found = high_pass(self._stage, touch, goal, rng, urge, bounce=rng.random() < _BOUNCE)
        return found or low_pass(self._stage, touch, goal, rng, urge) or clearance(touch, rng)

    def _foul(self, touch: Touch, move: Move, half: Span) -> float | None:
        """When play is stopped while a ball rolls, if it is."""
        if move.slowing is None or move.ends - touch.time < 0.8 or self.rng.random() > _FOUL:
            return None
        whistle = _whole(self.rng.uniform(touch.time + 0.4, move.ends - 0.2), half)
        return whistle if whistle < half.seconds[1] else None

    def _restart(self, stopped: float, half: Span) -> Touch | None:
        """Stop play, bring a ball to a player, and go on; None if the half ends before."""
        outside = not self.holdings or self.holdings[-1].ends < micros(stopped)
        where = self._ball.place
        if outside and self.rng.random() < _OTHER_BALL:
            free = [b for b in range(LATE_BALL + (half.half == 2)) if b != self._active]
            self._active = int(self.rng.choice(free))
        self._ball.wait(stopped)
        earliest = max(stopped + self.rng.uniform(*_STOP), self._ball.time + _CARRIED)
        touch = self._ready(earliest, where[:2])
        goes_on = _whole(touch.time - self.rng.uniform(0.2, 0.6), half)
        if goes_on > half.seconds[1] - 1.0:
            self.interruptions.append(Span(half.half, micros(stopped), half.ends))
            return None
        self._last_stop = touch.time
        self._ball.carry(touch.place, goes_on - 0.05)
        self.interruptions.append(Span(half.half, micros(stopped), micros(goes_on)))
        return touch

    def _ready(self, earliest: float, where: Floats) -> Touch:
        """The player nearest to a place that is alone, from a time on."""
        time = earliest
        everyone = np.arange(len(PLAYERS))
        while True:
            limbs = self.rng.integers(0, 2, len(PLAYERS))
            found = self._stage.chances(everyone, np.full(len(PLAYERS), time), limbs)
            if len(found.players):
                nearest = int(np.argmin(np.hypot(*(found.places[:, :2] - where).T)))
                return Touch(int(found.players[nearest]), float(found.times[nearest]), found.places[nearest], _STILL)
            time += 0.2

    def _record(self, touch: Touch) -> None:
        hit = Hit(micros(touch.time), touch.player)
        self.hits.append(hit)
        if self._holder is None or self._holder.player != touch.player:
            self._release(touch.time)
            self._holder = hit

    def _release(self, time: float) -> None:
        if self._holder is not None:
            self.holdings.append(Holding(self._holder.time, micros(time), self._holder.player))
            self._holder = None


def _whole(time: float, half: Span) -> float:
    """The time, put off to a whole millisecond of the half: referees write no finer."""
    begins = half.seconds[0]
    return round(begins + math.ceil((time - begins) * 1000) / 1000, 6)


def _resting(number: int) -> Floats:
    """Where a ball lies that is not in play: beside the field."""
    return np.array((-4.0, -12.0 + 8.0 * number, BALL_RADIUS))
