"""Pictures of a match as SVG: maps of the field, lines over time, bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from millstream_bench.soccer.field import GOALS, X_HIGH, X_LOW, Y_HIGH, Y_LOW

LENGTH, WIDTH = Y_HIGH - Y_LOW, X_HIGH - X_LOW
HEAT = ("#fff3d6", "#ffd27f", "#ff9f43", "#e8590c", "#a61e0c", "#5c0a0a")
"""From the cells that are rarely trodden to those that are often."""
TEAMS = {"A": "#1864ab", "B": "#c92a2a"}
CLASSES = ("standing", "trot", "low", "medium", "high", "sprint")
CLASS_COLOURS = ("#ced4da", "#a5d8ff", "#74c0fc", "#339af0", "#1864ab", "#f08c00")


def heat_map(cells: Sequence[int], counts: Sequence[int], across: int, along: int) -> str:
    """Where a player was: a cell of the grid is as dark as its share of the readings, by rank among those trodden.

    Cells are numbered row by row along the field; `across` and `along` are their numbers on the short and long side.
    """
    wide, high = LENGTH / along, WIDTH / across
    ranks = {count: rank for rank, count in enumerate(sorted(set(counts)))}
    steps = max(len(ranks), 1)
    marks = []
    for cell, count in zip(cells, counts, strict=True):
        column, row = cell % along, cell // along
        colour = HEAT[ranks[count] * len(HEAT) // steps]
        marks.append(f'<rect x="{column * wide:.2f}" y="{row * high:.2f}" {_size(wide, high)} fill="{colour}"/>')
    return _field("".join(marks))


def shot_map(shots: Sequence[tuple[str, Sequence[tuple[float, float]]]]) -> str:
    """The ways of shots: for each its team, and places of the ball in metres (x, y)."""
    lines = []
    for team, places in shots:
        points = " ".join(f"{y - Y_LOW:.2f},{x - X_LOW:.2f}" for x, y in places)
        colour = TEAMS.get(team, "#495057")
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="0.4"/>')
        if places:
            x, y = places[0]
            lines.append(f'<circle cx="{y - Y_LOW:.2f}" cy="{x - X_LOW:.2f}" r="0.7" fill="{colour}"/>')
    return _field("".join(lines))


def _size(wide: float, high: float) -> str:
    return f'width="{wide:.2f}" height="{high:.2f}"'


def _field(inside: str) -> str:
    """The field with its lines, from goal to goal from left to right."""
    line = 'fill="none" stroke="#868e96" stroke-width="0.25"'
    middle, centre = LENGTH / 2, WIDTH / 2
    goals = "".join(
        f'<line x1="{g.y - Y_LOW:.2f}" x2="{g.y - Y_LOW:.2f}" y1="{g.left:.2f}" y2="{g.right:.2f}" '
        'stroke="#212529" stroke-width="0.9"/>'
        for g in GOALS
    )
    drawn = f'<rect x="0" y="0" {_size(LENGTH, WIDTH)} {line}/><line x1="{middle:.2f}" x2="{middle:.2f}" y1="0"'
    drawn += f' y2="{WIDTH:.2f}" {line}/><circle cx="{middle:.2f}" cy="{centre:.2f}" r="6" {line}/>'
    return f'<svg class="field" viewBox="-1.5 -1 {LENGTH + 3:.2f} {WIDTH + 2:.2f}">{inside}{drawn}{goals}</svg>'


def lines(series: Mapping[str, Sequence[tuple[float, float]]], unit: str, colours: Mapping[str, str]) -> str:
    """Values over minutes, from 0 to 100: one line for each name."""
    last = max((x for points in series.values() for x, _ in points), default=1.0) or 1.0
    wide, high = 640.0, 180.0
    drawn = []
    for value in (0, 50, 100):
        y = high - value * high / 100
        drawn.append(f'<line class="axis" x1="0" x2="{wide}" y1="{y}" y2="{y}"/>')
        drawn.append(f'<text x="-6" y="{y + 4}" text-anchor="end">{value}{unit}</text>')
    drawn += [
        f'<text x="{minute / last * wide:.1f}" y="{high + 16}" text-anchor="middle">{minute} min</text>'
        for minute in range(int(last) + 1)
    ]
    for name, points in series.items():
        path = " ".join(f"{x / last * wide:.1f},{high - y * high / 100:.1f}" for x, y in points)
        colour = colours.get(name, "#495057")
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if points:
            x, y = points[-1]
            drawn.append(
                f'<text x="{x / last * wide + 6:.1f}" y="{high - y * high / 100 + 4:.1f}" fill="{colour}">'
                f"{escape(name)}</text>"
            )
    return f'<svg class="lines" viewBox="-50 -10 {wide + 120} {high + 34}">{"".join(drawn)}</svg>'


def class_bar(seconds: Sequence[float], longest: float) -> str:
    """How long a player ran in each class, as parts of one bar."""
    at, parts = 0.0, []
    for name, colour, value in zip(CLASSES, CLASS_COLOURS, seconds, strict=True):
        wide = 100 * value / longest if longest else 0.0
        parts.append(
            f'<rect x="{at:.2f}" y="0" {_size(wide, 6)} fill="{colour}"><title>{name} {value:.0f} s</title></rect>'
        )
        at += wide
    return f'<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none">{"".join(parts)}</svg>'
