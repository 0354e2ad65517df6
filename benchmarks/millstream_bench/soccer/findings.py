"""What the page of a match shows, read from the folders that the four queries have written."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from millstream_bench.soccer.page import HeatMap, Match, Runner, Shot
from millstream_bench.soccer.pictures import CLASSES

PAUSE = 1.0
"""Readings of one player's shot that lie further apart, in seconds, belong to two shots."""
FINEST = 64
GAME = 0
"""The minutes of the window that is the whole game."""
PICOS = 1e12
"""How many picoseconds a second has."""


def findings(out: Path, summary: str, figures: Sequence[tuple[str, str]]) -> Match:
    """The match as its results tell it."""
    ran = _of_window(_rows(out / "running_totals"), GAME)
    teams = _of_window(_rows(out / "team_possession"), 1)
    begun = min((row["ts"] for row in ran), default=None)
    possession: dict[str, list[tuple[float, float]]] = {"A": [], "B": []}
    for row in teams:
        if row["time_percent"] is not None and begun is not None:
            possession[row["team_id"]].append((_seconds(begun, row["ts"]) / 60, row["time_percent"]))
    return Match(
        "A soccer match, read by its sensors",
        summary,
        possession,
        [(r["player_id"], r["time"], r["hits"]) for r in _newest(_of_window(_rows(out / "possession"), GAME))],
        [_runner(row) for row in _newest(ran)],
        [_heat(row) for row in _newest(_finest(out / "heat"))],
        _shots(out / "shots", begun),
        figures,
    )


def _rows(folder: Path, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """The rows of a result in the order of time."""
    files = sorted(folder.glob("[!._]*.parquet"))
    if not files:
        return []
    table = pa.concat_tables([pq.read_table(file, columns=columns) for file in files])
    found: list[dict[str, Any]] = table.sort_by("ts").to_pylist()
    return found


def _of_window(rows: Sequence[dict[str, Any]], minutes: int) -> list[dict[str, Any]]:
    return [row for row in rows if row["minutes"] == minutes]


def _newest(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last row of each player, by name."""
    return [row for _, row in sorted({row["player_id"]: row for row in rows}.items())]


def _seconds(begun: datetime, moment: datetime) -> float:
    return (moment - begun).total_seconds()


def _runner(row: dict[str, Any]) -> Runner:
    seconds = [row[f"{name}_time"] for name in CLASSES]
    return Runner(row["player_id"], seconds, sum(row[f"{name}_distance"] for name in CLASSES))


def _finest(folder: Path) -> list[dict[str, Any]]:
    """The maps of the whole game on the finest grid."""
    rows = []
    for file in sorted(folder.glob("[!._]*.parquet")):
        table = pq.read_table(file)
        wanted = pc.and_(pc.equal(table["grid_x"], FINEST), pc.equal(table["minutes"], GAME))
        rows += table.filter(wanted).to_pylist()
    return sorted(rows, key=lambda row: row["ts"])


def _heat(row: dict[str, Any]) -> HeatMap:
    return HeatMap(row["player_id"], row["grid_x"], row["grid_y"], row["cells"], row["counts"])


def _shots(folder: Path, begun: datetime | None) -> list[Shot]:
    """Shots, put together from the readings of the ball that belong to each; these have picoseconds."""
    shots: list[Shot] = []
    last: tuple[str, float] | None = None
    places: list[tuple[float, float]] = []
    for row in _rows(folder, ["ts", "player_id", "x", "y"]):
        moment = row["ts"] / PICOS
        if last is None or last[0] != row["player_id"] or moment - last[1] > PAUSE:
            places = []
            shots.append(Shot(moment - (begun.timestamp() if begun else moment), row["player_id"], places))
        places.append((row["x"] / 1000, row["y"] / 1000))
        last = (row["player_id"], moment)
    return shots
