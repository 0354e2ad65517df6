"""Pictures of the figures of a sweep, or of the NEXMark queries, drawn from their file alone."""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from millstream.errors import SettingError
from millstream_bench.measures.sweep import SLIDE, USUAL_KEYS

COLOURS = {
    "millstream": "#1b6ca8",
    "spark": "#e07a1f",
    "flink": "#b23a6b",
    "flink-datagen": "#d59bb5",
    "flink-suite": "#d59bb5",
}
SIZE = (6.4, 4.0)
DOTS_PER_INCH = 130

Points = Mapping[str, Any]


def draw(figures: Mapping[str, Any], folder: Path) -> list[Path]:
    """One PNG for each part that the figures hold."""
    pyplot = _pyplot()
    folder.mkdir(parents=True, exist_ok=True)
    points: Points = figures["points"]
    rows = f"{figures['plan']['rows']:,} rows, {figures['machine']['cores']} cores"
    drawn = []
    for part, label in (
        ("range", f"range of the window in seconds (slide {SLIDE} s)"),
        ("keys", "distinct keys"),
        ("disorder", "rows are late by up to so many milliseconds"),
    ):
        if found := _series(points, part):
            drawn.append(_picture(pyplot, folder / f"{part}.png", _throughput(found, label, rows)))
    if memory := {name: p for name, p in points.items() if name.startswith("state/")}:
        drawn.append(_picture(pyplot, folder / "memory.png", _memory(memory)))
    if ratios := _ratios(points):
        events = rows.replace("rows", "events")
        drawn.append(_picture(pyplot, folder / "nexmark.png", _queries(ratios, events)))
    if "latency" in points:
        drawn.append(_picture(pyplot, folder / "latency.png", _latency(points["latency"])))
    return drawn


def _pyplot() -> Any:
    try:
        importlib.import_module("matplotlib").use("Agg")  # no screen is needed
        return importlib.import_module("matplotlib.pyplot")
    except ImportError:
        raise SettingError("plots need matplotlib\nhelp: pip install matplotlib") from None


def _picture(pyplot: Any, file: Path, fill: Callable[[Any], None]) -> Path:
    figure, axes = pyplot.subplots(figsize=SIZE, layout="constrained")
    fill(axes)
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    axes.set_axisbelow(True)
    axes.grid(visible=True, which="major", alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(file, dpi=DOTS_PER_INCH)
    pyplot.close(figure)
    return file


def _series(points: Points, part: str) -> dict[str, list[tuple[str, float]]]:
    """For each engine its rows per second, point by point."""
    found: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for name, results in points.items():
        kind, _, value = name.partition("/")
        if kind == part:
            for result in results:
                found[result["engine"]].append((f"{int(value):,}", result["rows_per_s"]))
    return dict(found)


def _throughput(found: dict[str, list[tuple[str, float]]], label: str, title: str) -> Callable[[Any], None]:
    def fill(axes: Any) -> None:
        for engine, values in found.items():
            axes.plot(*zip(*values, strict=True), marker="o", label=engine, color=COLOURS.get(engine))
        _plain_log(axes)
        axes.set(xlabel=label, ylabel="rows per second", title=f"Throughput: {title}")

    return fill


def _memory(points: Points) -> Callable[[Any], None]:
    series: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for point in points.values():
        series[point["tuples_per_key_and_s"]].append((point["range"], point["blob_bytes"] / 2**20))

    def fill(axes: Any) -> None:
        for (tuples, values), mark in zip(sorted(series.items()), ("o", "x", "s", "^"), strict=False):
            ranges, sizes = zip(*sorted(values), strict=True)
            label = f"tuples per key and second: {tuples}"
            axes.plot([f"{r:,}" for r in ranges], sizes, marker=mark, markersize=9, label=label)
        _plain_log(axes)
        axes.set(xlabel=f"range of the window in seconds (slide {SLIDE} s)", ylabel="state in MB")
        axes.set(title=f"State of count, max and sum over {USUAL_KEYS:,} keys")

    return fill


def _ratios(points: Points) -> dict[str, dict[str, float]]:
    """For each other engine the ratio of Millstream's speed to its own, query by query."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for name, point in points.items():
        kind, _, query = name.partition("/")
        if kind == "nexmark":
            for pair, ratio in point.get("paired_ratios", {}).items():
                found[pair.partition("/")[2]][query] = ratio
    return dict(found)


def _queries(found: dict[str, dict[str, float]], title: str) -> Callable[[Any], None]:
    names = sorted({query for ratios in found.values() for query in ratios}, key=lambda query: int(query[1:]))
    width = 0.8 / len(found)

    def fill(axes: Any) -> None:
        for number, (engine, ratios) in enumerate(found.items()):
            places = [names.index(query) + width * (number - (len(found) - 1) / 2) for query in ratios]
            above = [ratio - 1 for ratio in ratios.values()]  # bars stand on 1, or hang from it
            axes.bar(places, above, width, bottom=1, label=f"to {engine}", color=COLOURS.get(engine))
        _plain_log(axes)
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_xticks(range(len(names)), names)
        axes.axhline(1, color="black", linewidth=1)
        axes.set(ylabel="Millstream's events/s to the other's", title=f"NEXMark: {title}")

    return fill


def _latency(point: Mapping[str, Any]) -> Callable[[Any], None]:
    def fill(axes: Any) -> None:
        axes.hist(point["seconds"], bins=30, color=COLOURS["millstream"])
        axes.axvline(point["median_s"], color="black", linestyle="--", label=f"median {point['median_s']:.2f} s")
        axes.axvline(point["p95_s"], color="black", linestyle=":", label=f"95 % within {point['p95_s']:.2f} s")
        axes.set(xlabel="seconds from the covering file to the row in the sink", ylabel="windows")
        axes.set(title=f"Latency at {point['rate']:,} rows/s: {point['windows']} windows", xlim=(0, None))

    return fill


def _plain_log(axes: Any) -> None:
    """A logarithmic axis with few marks, written as plain numbers (20 k, 1 M)."""
    ticker = importlib.import_module("matplotlib.ticker")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ticker.EngFormatter())
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())
