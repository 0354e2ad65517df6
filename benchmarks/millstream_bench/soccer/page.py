"""The page of a match: what the four queries found, and how fast they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from millstream_bench.soccer.pictures import CLASS_COLOURS, CLASSES, TEAMS, class_bar, heat_map, lines, shot_map

STYLE = """
:root { color-scheme: light dark; --line: #adb5bd66; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; }
h2 { margin-top: 2.5rem; }
table { border-collapse: collapse; width: 100%; }
td, th { padding: .25rem .6rem; border-bottom: 1px solid var(--line); }
th { text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
svg.field { width: 100%; background: #f1f8e9; border-radius: 4px; }
svg.lines { width: 100%; }
svg.bar { width: 16rem; height: .8rem; }
svg text { font-size: 12px; fill: currentColor; }
svg .axis { stroke: var(--line); }
.maps { display: grid; grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); gap: .8rem; }
figure { margin: 0; }
figcaption, .note { font-size: 13px; opacity: .8; }
.key span { display: inline-block; margin-right: 1rem; }
.key i { display: inline-block; width: .8rem; height: .8rem; margin-right: .3rem; }
"""


@dataclass(frozen=True)
class HeatMap:
    """The heat map of a player on a grid of `across` by `along` cells."""

    player: str
    across: int
    along: int
    cells: Sequence[int]
    counts: Sequence[int]


@dataclass(frozen=True)
class Runner:
    """How long a player ran in each class of intensity, and how far in all."""

    player: str
    seconds: Sequence[float]
    metres: float


@dataclass(frozen=True)
class Shot:
    """A shot on goal: seconds since the beginning, who, and the places of the ball in metres."""

    at: float
    player: str
    places: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Match:
    """What a page shows. `possession` has for each team its share in percent by minutes; `figures` are rows of text."""

    title: str
    summary: str
    possession: Mapping[str, Sequence[tuple[float, float]]]
    holders: Sequence[tuple[str, float, int]]
    runners: Sequence[Runner]
    heat: Sequence[HeatMap]
    shots: Sequence[Shot]
    figures: Sequence[tuple[str, str]]


def page(match: Match) -> str:
    """The page as HTML that needs nothing else."""
    parts = [
        f"<h1>{escape(match.title)}</h1><p>{escape(match.summary)}</p>",
        _section("How fast it went", _table(("", ""), match.figures)),
        _section("Who had the ball", _possession(match)),
        _section("Shots on goal", _shots(match)),
        _section("How they ran", _runners(match.runners)),
        _section("Where they were", _maps(match.heat)),
    ]
    head = f'<meta charset="utf-8"><title>{escape(match.title)}</title><style>{STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def _section(title: str, inside: str) -> str:
    return f"<h2>{escape(title)}</h2>{inside}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 1) -> str:
    """A table whose last columns are numbers."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads) if any(heads) else ""
    body = []
    for row in rows:
        words, figures = row[: len(row) - numbers], row[len(row) - numbers :]
        cells = [f"<td>{escape(w)}</td>" for w in words] + [f'<td class="n">{escape(f)}</td>' for f in figures]
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{f'<tr>{top}</tr>' if top else ''}{''.join(body)}</table>"


def _possession(match: Match) -> str:
    names = {team: f"team {team}" for team in match.possession}
    series = {names[team]: points for team, points in match.possession.items()}
    drawn = lines(series, "%", {names[team]: TEAMS.get(team, "") for team in names})
    rows = [(player, f"{seconds:.1f} s", str(hits)) for player, seconds, hits in match.holders]
    note = '<p class="note">Share of the last minute in which either team had the ball.</p>'
    return drawn + note + _table(("player", "time with the ball", "hits"), rows, numbers=2)


def _shots(match: Match) -> str:
    drawn = shot_map([(shot.player[:1], shot.places) for shot in match.shots])
    rows = [(shot.player, f"{shot.at:.1f} s", str(len(shot.places))) for shot in match.shots]
    return drawn + _table(("player", "at", "readings of the ball"), rows, numbers=2)


def _runners(runners: Sequence[Runner]) -> str:
    longest = max((sum(r.seconds) for r in runners), default=0.0)
    rows = "".join(
        f'<tr><td>{escape(r.player)}</td><td class="n">{r.metres:,.0f} m</td>'
        f"<td>{class_bar(r.seconds, longest)}</td></tr>"
        for r in runners
    )
    key = "".join(
        f'<span><i style="background:{c}"></i>{n}</span>' for n, c in zip(CLASSES, CLASS_COLOURS, strict=True)
    )
    heads = "<tr><th>player</th><th>distance</th><th>time in each class</th></tr>"
    return f'<p class="key">{key}</p><table>{heads}{rows}</table>'


def _maps(maps: Sequence[HeatMap]) -> str:
    drawn = "".join(
        f"<figure>{heat_map(m.cells, m.counts, m.across, m.along)}<figcaption>{escape(m.player)}</figcaption></figure>"
        for m in maps
    )
    return f'<div class="maps">{drawn}</div>'
