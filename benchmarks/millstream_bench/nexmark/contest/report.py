"""The figures of the NEXMark queries: in a file that is written after every query, as a table, and as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from millstream_bench.harness.figures import Figures, save_figures
from millstream_bench.nexmark.contest.measure import OWN, TOGETHER, Plan, Point, Say, measure

PREFIX = "nexmark/"
"""What the names of points begin with, so that a picture can tell them from others."""


def fill(
    figures: Figures, plan: Plan, names: Sequence[str], together: bool, file: Path | None, root: Path, say: Say
) -> None:
    """Measure what the figures do not hold yet; the file is written after every query, so a run can go on later."""
    points: dict[str, Point] = figures["points"]
    missing = [name for name in names if PREFIX + name not in points]
    at_once = list(names) if together and len(names) > 1 else []
    if points.get(PREFIX + TOGETHER, {}).get("queries") == at_once:
        at_once = []
    for name, point in measure(plan, missing, at_once, root, say):
        points[PREFIX + name] = point
        if file:
            save_figures(file, figures)


def json_lines(figures: Figures, names: Sequence[str]) -> list[str]:
    """For each query one object for each engine and one with the ratios, then all at once, then the notes."""
    lines = []
    for name, point in _present(figures, names):
        lines += [{"bench": "nexmark", "query": name, **result} for result in point["results"]]
        if name != TOGETHER:
            rest = {what: value for what, value in point.items() if what != "results"}
            lines.append({"bench": "nexmark", "query": name, **rest})
    if notes := figures["points"].get(f"{PREFIX}notes"):
        lines.append({"bench": "nexmark", "notes": notes})
    return [json.dumps(line) for line in lines]


def table(figures: Figures, names: Sequence[str]) -> Table:
    """A row for each query: events a second, ratios and memory of each engine."""
    plan = figures["plan"]
    present = _present(figures, names)
    seen = {result["engine"] for _, point in present for result in point["results"]}
    engines = [name for name in (OWN, *plan["against"]) if name in seen]
    notes = figures["points"].get(f"{PREFIX}notes", {})
    noted = "".join(f"\n{engine}: {what}: {value}" for engine, own in notes.items() for what, value in own.items())
    view = Table(
        title=f"nexmark: {plan['events']:,} events, {plan['rate']:,} in a second of their time",
        title_justify="left",
        caption=f"median of {plan['repeat']} runs after warm-up; x: events/s of {OWN} to this engine's, from run to run"
        f"; all: all of these queries at once{noted}",
        caption_justify="left",
    )
    view.add_column("query")
    for engine in engines:
        view.add_column(f"{engine}\nevents/s", justify="right")
        if engine != OWN:
            view.add_column("x", justify="right")
        view.add_column("peak\nMB", justify="right")
    for name, point in present:
        view.add_row(name, *_cells(point, engines))
    return view


def _cells(point: Point, engines: Sequence[str]) -> list[str]:
    found = {result["engine"]: result for result in point["results"]}
    cells = []
    for engine in engines:
        result: Mapping[str, Any] | None = found.get(engine)
        cells.append(f"{result['events_per_s']:,}" if result else "-")
        if engine != OWN:
            cells.append(f"{point['paired_ratios'][f'{OWN}/{engine}']:.2f}" if result else "")
        cells.append(f"{result['peak_rss_mb']:,}" if result else "")
    return cells


def _present(figures: Figures, names: Sequence[str]) -> list[tuple[str, Point]]:
    points = figures["points"]
    return [(name, points[PREFIX + name]) for name in (*names, TOGETHER) if PREFIX + name in points]
