"""The match, live: it is played, the four queries read it at the speed that the machine can take, and a page shows it.

A page has everything in it, so that it can be kept and sent on.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from millstream.mill import Mill, RunningQuery, connect
from millstream_bench.soccer.findings import findings
from millstream_bench.soccer.page import page
from millstream_bench.soccer.queries import NAMES, script
from millstream_bench.soccer.write import match

LOOK_SECONDS = 0.1

Tell = Callable[[str, float], None]
"""Is told what is being done, and which share of it is."""


@dataclass(frozen=True)
class Played:
    """A match that was read: where its page is, how many events it has, and how long all queries took for them."""

    page: Path
    events: int
    seconds: float
    play_seconds: float

    @property
    def times_real_time(self) -> float:
        """How much faster than the match the queries were."""
        return self.play_seconds / self.seconds


def play(root: Path, *, minutes: float, seed: int, tell: Tell) -> Played:
    """Make a match, run the four queries over it, and write the page; data and results are kept below `root`."""
    tell("playing the match", 0.0)
    folder = match(root / "data", minutes=minutes, seed=seed)
    known = json.loads((folder / "match.json").read_text(encoding="utf-8"))
    # Sensors send before, between and after the halves too.
    events, play_seconds = int(known["events"]), (known["ends_ps"] - known["begins_ps"]) / 1e12
    out = root / "results"
    tell("starting Spark", 0.0)
    with connect(base=root, once=True, display=lambda *_: None) as mill:
        mill.spark  # noqa: B018  (started before the clock is)
        begun = time.monotonic()
        mill.execute(script(folder, out))
        _wait(mill, events, tell)
        seconds = time.monotonic() - begun
        figures = _figures(mill.queries, events, seconds, play_seconds)
    summary = f"{minutes:g} minutes of play, {events:,} events. Queries {', '.join(NAMES)} of the DEBS 2013 challenge."
    file = root / "match.html"
    file.write_text(page(findings(out, summary, figures)), encoding="utf-8")
    return Played(file, events, seconds, play_seconds)


def _wait(mill: Mill, events: int, tell: Tell) -> None:
    while any(query.is_active for query in mill.queries):
        read = [min(query.counts.rows_in / events, 1.0) for query in mill.queries]
        tell("reading it", statistics.mean(read))
        time.sleep(LOOK_SECONDS)
    mill.wait()
    tell("reading it", 1.0)


def _figures(
    queries: Sequence[RunningQuery], events: int, seconds: float, play_seconds: float
) -> list[tuple[str, str]]:
    rows = [
        ("all queries together", f"{events / seconds:,.0f} events/s"),
        ("against real time", f"{play_seconds / seconds:.0f} times"),
    ]
    rows += [(f"{q.name}: events for each second of its batches", f"{q.counts.rows_per_second:,.0f}") for q in queries]
    rows += [(f"{q.name}: a batch, from its beginning to its results", f"{_batch(q):.2f} s") for q in queries]
    return rows


def _batch(query: RunningQuery) -> float:
    return query.counts.busy_seconds / max(query.counts.batches, 1)
