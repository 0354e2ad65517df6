"""Where limbs and balls are at a time, and what their sensors read: smooth curves with their exact derivatives.

A runner has a curve of four numbers: x, y, the way gone so far, and the direction it faces. Each is a uniform cubic
B-spline, so speed and acceleration are its derivatives and have no jumps. A limb swings around the runner by the way
gone: left and right are always opposite, so that their mean is the runner, and who stands still does not swing.

All that is compiled and calls each other is in this file: the cache of compiled code knows of changes in a kernel's
own file alone.
"""

from __future__ import annotations

import math
from typing import Final

import numba
import numpy as np

from millstream_bench.soccer.ball import PIECE
from millstream_bench.soccer.clock import ORIGIN, PICOS

Floats = np.ndarray

STEP: Final = 0.1
"""Seconds between two knots."""
CHANNELS: Final = 4

STRIDE: Final = 2 * math.pi / 1.6
"""Radians of swing for each metre."""
LEG_SWING: Final = 0.10
LEG_SIDE: Final = 0.10
LEG_HEIGHT: Final = 0.08
LIFT: Final = 0.02
ARM_SWING: Final = 0.06
ARM_SIDE: Final = 0.28
ARM_HEIGHT: Final = 0.65


@numba.njit(cache=True, nogil=True, inline="always")
def _curve(knots: Floats, time: float, channel: int) -> tuple[float, float, float]:
    """The value of a curve with its first and second derivative."""
    at = time / STEP
    first = min(max(int(at), 0), knots.shape[0] - 4)
    f = at - first
    a, b, c, d = (
        knots[first, channel],
        knots[first + 1, channel],
        knots[first + 2, channel],
        knots[first + 3, channel],
    )
    cubic = (d - a) / 6 + (b - c) / 2
    square = (a + c) / 2 - b
    slope = (c - a) / 2
    value = ((cubic * f + square) * f + slope) * f + (a + 4 * b + c) / 6
    return value, ((3 * cubic * f + 2 * square) * f + slope) / STEP, (6 * cubic * f + 2 * square) / (STEP * STEP)


@numba.njit(cache=True, nogil=True)
def limb_state(knots: Floats, time: float, limb: int, state: Floats) -> None:
    """Write place, velocity and acceleration of a limb (9 numbers) into `state`. The limb -1 is the runner itself."""
    x, vx, ax = _curve(knots, time, 0)
    y, vy, ay = _curve(knots, time, 1)
    if limb < 0:
        state[:] = 0.0
        state[0], state[1], state[3], state[4], state[6], state[7] = x, y, vx, vy, ax, ay
        return
    way, speed, gain = _curve(knots, time, 2)
    facing, turn, turn_gain = _curve(knots, time, 3)
    side = 1.0 if limb % 2 == 0 else -1.0
    if limb < 2:
        swing, beside, height, lift = side * LEG_SWING, side * LEG_SIDE, LEG_HEIGHT, LIFT
    else:
        swing, beside, height, lift = -side * ARM_SWING, side * ARM_SIDE, ARM_HEIGHT, 0.0
    sine, cosine = math.sin(STRIDE * way), math.cos(STRIDE * way)
    rate = STRIDE * speed
    ahead = swing * sine
    ahead_speed = swing * cosine * rate
    ahead_gain = swing * (cosine * STRIDE * gain - sine * rate * rate)
    hx, hy = math.cos(facing), math.sin(facing)
    # In the runner's own frame (ahead, left) that turns with it.
    along_speed = ahead_speed - turn * beside
    across_speed = turn * ahead
    along_gain = ahead_gain - turn_gain * beside - turn * turn * ahead
    across_gain = 2 * turn * ahead_speed + turn_gain * ahead - turn * turn * beside
    state[0] = x + hx * ahead - hy * beside
    state[1] = y + hy * ahead + hx * beside
    state[2] = height + lift * (1 + side * cosine)
    state[3] = vx + hx * along_speed - hy * across_speed
    state[4] = vy + hy * along_speed + hx * across_speed
    state[5] = -lift * side * sine * rate
    state[6] = ax + hx * along_gain - hy * across_gain
    state[7] = ay + hy * along_gain + hx * across_gain
    state[8] = -lift * side * (cosine * rate * rate + sine * STRIDE * gain)


@numba.njit(cache=True, nogil=True)
def limb_states(knots: Floats, runners: Floats, times: Floats, limbs: Floats) -> Floats:
    """Place, velocity and acceleration (n, 9) of limbs at times; the knots are (runner, knot, channel)."""
    states = np.zeros((len(times), 9))
    for i in range(len(times)):
        limb_state(knots[runners[i]], times[i], limbs[i], states[i])
    return states


@numba.njit(cache=True, nogil=True)
def centres(knots: Floats, times: Floats) -> Floats:
    """Where the runners (runner, time, 2) are."""
    found = np.zeros((knots.shape[0], len(times), 2))
    for runner in range(knots.shape[0]):
        for i in range(len(times)):
            for channel in range(2):
                found[runner, i, channel] = _curve(knots[runner], times[i], channel)[0]
    return found


@numba.njit(cache=True, nogil=True)
def speeds(knots: Floats, times: Floats) -> Floats:
    """How fast the runners (runner, time) are, in metres a second."""
    found = np.zeros((knots.shape[0], len(times)))
    for runner in range(knots.shape[0]):
        for i in range(len(times)):
            found[runner, i] = math.hypot(_curve(knots[runner], times[i], 0)[1], _curve(knots[runner], times[i], 1)[1])
    return found


@numba.njit(cache=True, nogil=True)
def _ball_state(pieces: Floats, piece: int, time: float, state: Floats) -> None:
    since = time - pieces[piece, 0]
    for axis in range(3):
        velocity, gain = pieces[piece, 4 + axis], pieces[piece, 7 + axis]
        state[axis] = pieces[piece, 1 + axis] + velocity * since + gain * since * since / 2
        state[3 + axis] = velocity + gain * since
        state[6 + axis] = gain
    state[8] += pieces[piece, PIECE - 1]


@numba.njit(cache=True, nogil=True)
def _vector(state: Floats, first: int, row: int, size: Floats, narrow: Floats, i: int) -> None:
    """Length in millionths, and direction times 10,000; what is still points along x."""
    length = np.sqrt(state[first] ** 2 + state[first + 1] ** 2 + state[first + 2] ** 2)
    size[i] = np.int64(length * 1e6 + 0.5)
    if length < 1e-9:
        narrow[row, i], narrow[row + 1, i], narrow[row + 2, i] = 10_000, 0, 0
        return
    for axis in range(3):
        narrow[row + axis, i] = np.int32(np.floor(state[first + axis] * (1e4 / length) + 0.5))


@numba.njit(cache=True, nogil=True)
def read(
    knots: Floats,
    pieces: Floats,
    first_pieces: Floats,
    is_ball: Floats,
    carriers: Floats,
    limbs: Floats,
    sensors: Floats,
    times: Floats,
    wide: Floats,
    narrow: Floats,
) -> None:
    """Write what the sensors read at their times: `wide` is speed, acceleration, microseconds; `narrow` the rest."""
    current = first_pieces[:-1].copy()
    state = np.zeros(9)
    for i in range(len(times)):
        sensor = sensors[i]
        carrier = carriers[sensor]
        micros = times[i] // PICOS
        time = (micros - ORIGIN) * 1e-6 + (times[i] - micros * PICOS) * 1e-12
        if is_ball[sensor]:
            piece = current[carrier]
            while piece + 1 < first_pieces[carrier + 1] and pieces[piece + 1, 0] <= time:
                piece += 1
            while piece > first_pieces[carrier] and pieces[piece, 0] > time:
                piece -= 1
            current[carrier] = piece
            _ball_state(pieces, piece, time, state)
        else:
            limb_state(knots[carrier], time, limbs[sensor], state)
        for axis in range(3):
            narrow[axis, i] = np.int32(np.floor(state[axis] * 1e3 + 0.5))
        _vector(state, 3, 3, wide[0], narrow, i)
        _vector(state, 6, 6, wide[1], narrow, i)
        wide[2, i] = micros
