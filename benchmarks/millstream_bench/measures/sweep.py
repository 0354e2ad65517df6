"""`sweep`: the other benchmarks over a range of shapes, one after the other, with all figures in one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from millstream_bench.harness.compare import compare
from millstream_bench.harness.figures import open_figures, save_figures
from millstream_bench.harness.workload import Size
from millstream_bench.measures import latency, state
from millstream_bench.workloads import sliding

RANGES = (10, 60, 600)
KEYS = (10, 1_000, 20_000, 200_000)
DISORDER = (0, 1_000, 5_000)
WINDOWS = (60, 600, 3_600)
TUPLES = (1, 10)
SLIDE = 1
USUAL = {"range": 10, "slide": SLIDE, "disorder": 500, "rate": 0}
USUAL_KEYS = 1_000
MOST_COPIES = 60
"""Hand-written Spark copies each row into every window it belongs to; beyond so many it is left out, as hopeless."""

Say = Callable[[str], None]
Point = tuple[str, Callable[[], Any]]
"""The name of a figure, and how it is measured."""


@dataclass(frozen=True)
class Plan:
    """How much a sweep does."""

    rows: int
    against: tuple[str, ...]
    repeat: int
    warm_up: int
    seed: int
    latency_seconds: int

    def to_json(self) -> dict[str, Any]:
        """The settings that figures of one file have in common."""
        return {**asdict(self), "against": list(self.against)}


def sweep(plan: Plan, file: Path, data: Path, say: Say) -> dict[str, Any]:
    """Measure what the file does not hold yet; the file is written after every point, so a sweep can go on later."""
    figures = open_figures(file, plan.to_json())
    points = figures["points"]
    for name, measure in _points(plan, data, say):
        if name not in points:
            say(f"== {name}")
            points[name] = measure()
            save_figures(file, figures)
    return figures


def _points(plan: Plan, data: Path, say: Say) -> Iterator[Point]:
    # One rate for all ranges, or the number of results would change along with the range.
    rate = sliding.complete(Size(plan.rows, USUAL_KEYS, plan.seed), {**USUAL, "range": max(RANGES)})["rate"]
    for range_ in RANGES:
        yield f"range/{range_}", _throughput(plan, data, say, USUAL_KEYS, range=range_, rate=rate)
    for keys in KEYS:
        yield f"keys/{keys}", _throughput(plan, data, say, keys)
    for disorder in DISORDER:
        yield f"disorder/{disorder}", _throughput(plan, data, say, USUAL_KEYS, disorder=disorder)
    for window in WINDOWS:
        for tuples in TUPLES:
            yield f"state/{window}/{tuples}", _state(state.Shape(window, SLIDE, USUAL_KEYS, tuples))
    if plan.latency_seconds:
        yield "latency", _latency(latency.Shape(10_000, 100, 1, 1, 0, 100, plan.latency_seconds, 15), say)


def _throughput(plan: Plan, data: Path, say: Say, keys: int, **options: int) -> Callable[[], Any]:
    chosen = {**USUAL, **options}
    hopeless = chosen["range"] // chosen["slide"] > MOST_COPIES
    others: Sequence[str] = [name for name in plan.against if not (hopeless and name == "spark")]

    def measure() -> Any:
        results = compare(
            sliding.WORKLOAD,
            sliding.WORKLOAD.chosen(",".join(others)),
            Size(plan.rows, keys, plan.seed),
            chosen,
            root=data,
            repeat=plan.repeat,
            warm_up=plan.warm_up,
            say=say,
        )
        return [result.to_json() for result in results]

    return measure


def _state(shape: state.Shape) -> Callable[[], Any]:
    return lambda: state.measure(shape).to_json()


def _latency(shape: latency.Shape, say: Say) -> Callable[[], Any]:
    return lambda: latency.measure(shape, say).to_json()
