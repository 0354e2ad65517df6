"""`debs`: the four queries over a soccer match, each alone and all together, as fast as they go."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millstream.mill import connect
from millstream_bench.harness.family import PeakMemory
from millstream_bench.soccer.queries import NAMES, script
from millstream_bench.soccer.write import match

Say = Callable[[str], None]


@dataclass(frozen=True)
class Runs:
    """Which queries, how often, and whether each of them also runs alone; `keep`: results go to files."""

    queries: Sequence[str] = NAMES
    alone: bool = True
    repeat: int = 1
    warm_up: int = 1
    keep: bool = False


@dataclass(frozen=True)
class Speed:
    """The seconds of the timed runs of some queries over a match, and the most memory that was taken."""

    queries: tuple[str, ...]
    events: int
    play_seconds: float
    seconds: tuple[float, ...]
    peak_bytes: int
    keep: bool

    def to_json(self) -> dict[str, Any]:
        """The object that --json writes."""
        median = statistics.median(self.seconds)
        return {
            "bench": "debs",
            "queries": list(self.queries),
            "sinks": "parquet" if self.keep else "noop",
            "events": self.events,
            "seconds": round(median, 3),
            "runs": [round(s, 3) for s in self.seconds],
            "events_per_s": round(self.events / median),
            "times_real_time": round(self.play_seconds / median, 1),
            "peak_rss_mb": round(self.peak_bytes / 2**20),
        }


def measure(root: Path, minutes: float, seed: int, runs: Runs, say: Say) -> list[Speed]:
    """The speeds of each query alone, if that is wanted, and then of all together, in one Spark session."""
    folder = match(root, minutes=minutes, seed=seed)
    facts = json.loads((folder / "match.json").read_text(encoding="utf-8"))
    # Not the minutes of play alone: sensors send before, between and after the halves too.
    play_seconds = (facts["ends_ps"] - facts["begins_ps"]) / 1e12
    chosen = [(name,) for name in runs.queries] if runs.alone and len(runs.queries) > 1 else []
    found = []
    for queries in [*chosen, tuple(runs.queries)]:
        seconds = []
        with PeakMemory() as memory:
            for number in range(runs.warm_up + runs.repeat):
                took = _run(folder, queries, runs.keep)
                kind = "warm-up" if number < runs.warm_up else "timed"
                say(f"debs: {', '.join(queries)}: {took:.2f} s ({kind})")
                seconds.append(took)
        timed = tuple(seconds[runs.warm_up :])
        found.append(Speed(queries, facts["events"], play_seconds, timed, memory.peak_bytes, runs.keep))
    return found


def _run(folder: Path, queries: Sequence[str], keep: bool) -> float:
    with tempfile.TemporaryDirectory(prefix="bench-debs-") as place:
        master = f"local[{os.cpu_count() or 1}]"
        with connect(once=True, base=place, master=master) as mill:
            mill.spark  # noqa: B018  (started before the clock is)
            begun = time.perf_counter()
            mill.execute(script(folder, Path(place) / "out" if keep else None, queries=queries))
            mill.wait()
            return time.perf_counter() - begun
