"""What really happened, as tables: times of play, hits, who held the ball, shots, and how everyone ran."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from millstream_bench.soccer.clock import MICROS, Span, play, seconds
from millstream_bench.soccer.paths import speeds
from millstream_bench.soccer.running import BOUNDS, INTENSITIES
from millstream_bench.soccer.script import Script
from millstream_bench.soccer.sensors import PLAYERS

TIME: Final = pa.timestamp("us", tz="UTC")
_SAMPLES: Final = 50
"""Speeds that are looked at in a second."""


def truth_tables(script: Script) -> dict[str, pa.Table]:
    """All tables about the play, by their names."""
    return {
        "hits": hit_table(script),
        "holders": holder_table(script),
        "shots": shot_table(script),
        "running": running_table(script),
    }


def span_table(spans: tuple[Span, ...]) -> pa.Table:
    """The table (half, begins, ends)."""
    return pa.table(
        {
            "half": pa.array([s.half for s in spans], pa.int32()),
            "begins": pa.array([s.begins for s in spans], TIME),
            "ends": pa.array([s.ends for s in spans], TIME),
        }
    )


def play_table(script: Script) -> pa.Table:
    """The table (second, half, begins, ends): each second with each stretch of play [begins, ends) that touches it."""
    rows = [(s, stretch) for stretch in stretches(script) for s in _touched(stretch)]
    table = span_table(tuple(stretch for _, stretch in rows))
    return table.add_column(0, "second", pa.array([s for s, _ in rows], pa.int64()))


def stretches(script: Script) -> tuple[Span, ...]:
    """The stretches of play."""
    return play(script.clock.halves, script.interruptions)


def hit_table(script: Script) -> pa.Table:
    """The table (time, player_id, team): every touch of the ball in play."""
    return pa.table({"time": pa.array([h.time for h in script.hits], TIME), **_who([h.player for h in script.hits])})


def holder_table(script: Script) -> pa.Table:
    """The table (begins, ends, player_id, team).

    A player holds the ball from its first hit to the next hit of another one, or until the ball leaves the field, or
    play stops.
    """
    return pa.table(
        {
            "begins": pa.array([h.begins for h in script.holdings], TIME),
            "ends": pa.array([h.ends for h in script.holdings], TIME),
            **_who([h.player for h in script.holdings]),
        }
    )


def shot_table(script: Script) -> pa.Table:
    """The table (time, player_id, team, on_goal, ends)."""
    return pa.table(
        {
            "time": pa.array([s.time for s in script.shots], TIME),
            **_who([s.player for s in script.shots]),
            "on_goal": pa.array([s.on_goal for s in script.shots], pa.bool_()),
            "ends": pa.array([s.ends for s in script.shots], TIME),
        }
    )


def running_table(script: Script) -> pa.Table:
    """The table (second, player_id, distance, speed, intensity, playing) for all seconds that a half touches.

    The distance is the length of the way of the player's centre, in metres, the speed its mean in km/h, the intensity
    the class in which the centre was for the longest part of the second. `playing` is the share that is play.
    """
    whole = np.array([s for half in script.clock.halves for s in _touched(half)])
    offsets = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    times = (whole - seconds_origin())[:, None] + offsets
    fast = speeds(script.knots[: len(PLAYERS)], times.ravel()).reshape(len(PLAYERS), len(whole), _SAMPLES)
    mean = fast.mean(axis=2)
    classes = np.searchsorted(BOUNDS, fast * 3.6, side="right")
    longest = np.stack([(classes == c).sum(axis=2) for c in range(len(INTENSITIES))]).argmax(axis=0)
    playing = dict.fromkeys(whole.tolist(), 0.0)
    for stretch in stretches(script):
        for second in _touched(stretch):
            covered = min(stretch.ends, (second + 1) * MICROS) - max(stretch.begins, second * MICROS)
            playing[second] += covered / MICROS
    return pa.table(
        {
            "second": pa.array(np.repeat(whole, len(PLAYERS)), pa.int64()),
            "player_id": pa.array(list(PLAYERS) * len(whole), pa.string()),
            "distance": pa.array(mean.T.ravel(), pa.float64()),
            "speed": pa.array(mean.T.ravel() * 3.6, pa.float64()),
            "intensity": pa.array(np.array(INTENSITIES)[longest.T.ravel()], pa.string()),
            "playing": pa.array(np.repeat(list(playing.values()), len(PLAYERS)), pa.float64()),
        }
    )


def seconds_origin() -> float:
    """Where plans count from, in seconds since the epoch."""
    return -seconds(0)


def _touched(span: Span) -> range:
    """The whole seconds that a span touches."""
    return range(span.begins // MICROS, -(-span.ends // MICROS))


def _who(players: list[int]) -> dict[str, pa.Array]:
    names = [PLAYERS[p] for p in players]
    return {"player_id": pa.array(names, pa.string()), "team": pa.array([n[0] for n in names], pa.string())}
