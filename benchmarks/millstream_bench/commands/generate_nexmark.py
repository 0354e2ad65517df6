"""`millstream generate nexmark`: the people, auctions and bids of the NEXMark benchmark as files."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from millstream_bench.commands.arguments import at_least

EPILOG = """
The folder gets person/, auction/ and bid/ with so many files each, side/ with the side table of q13, and nexmark.json
with the settings and the counts. The same seed gives the same events. Progress goes to standard error.
"""
WHAT = "the auction house of the NEXMark benchmark: people, auctions and bids"
PROGRESS_SECONDS = 1.0


def add_arguments(commands: Any) -> None:
    """The arguments of this sub-command."""
    parser = commands.add_parser("nexmark", help=WHAT, description=WHAT, epilog=EPILOG)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the files go; a folder that is new or empty")
    parser.add_argument(
        "--events",
        type=at_least(1),
        default=1_000_000,
        metavar="N",
        help="people, auctions and bids together (1000000)",
    )
    parser.add_argument("--seed", type=at_least(0), default=1, metavar="N", help="seed of the events (%(default)s)")
    parser.add_argument(
        "--rate", type=at_least(1), default=10_000, metavar="N", help="events in a second of event time (%(default)s)"
    )
    parser.add_argument(
        "--format", choices=("parquet", "csv", "json"), default="parquet", help="what the files hold (%(default)s)"
    )
    parser.add_argument("--files", type=at_least(1), default=20, metavar="N", help="files of each kind (%(default)s)")
    parser.add_argument(
        "--group",
        type=at_least(1),
        default=1,
        metavar="N",
        help="so many events in a row are out of order; a divisor of 952 leaves them as they are (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="tell the counts as one JSON object")
    parser.set_defaults(command=generate)


def generate(arguments: argparse.Namespace) -> int:
    """Write the folder and tell what is in it."""
    # Only here: they bring numba along, and every other command would wait for it.
    from millstream_bench.nexmark.events import events
    from millstream_bench.nexmark.folder import write
    from millstream_bench.nexmark.settings import Settings

    settings = Settings(seed=arguments.seed, rate=arguments.rate, group=arguments.group)
    print("starting; the first run compiles the generator", file=sys.stderr, flush=True)
    events(0, settings.total, settings)
    line = _Line(arguments.events)
    counts = write(
        arguments.folder,
        events=arguments.events,
        format=arguments.format,
        files=arguments.files,
        settings=settings,
        progress=line.update,
    )
    line.end()
    seconds = line.seconds
    speed = round(arguments.events / seconds)
    if arguments.json:
        found = {"folder": str(arguments.folder), "events": arguments.events, **counts}
        print(json.dumps(found | {"seconds": round(seconds, 3), "events_per_second": speed}))
        return 0
    rows = f"{counts['person']:,} people, {counts['auction']:,} auctions, {counts['bid']:,} bids"
    print(f"{arguments.folder}: {rows}; {arguments.events:,} events in {seconds:.1f} s, {speed:,} events/s")
    return 0


class _Line:
    """How far it has come, at most once a second: one line on a terminal, several elsewhere."""

    def __init__(self, events: int) -> None:
        self._events = events
        self._started = self._told = time.monotonic()
        self._terminal = sys.stderr.isatty()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return max(time.monotonic() - self._started, 1e-6)

    def update(self, done: int) -> None:
        """So many events are written."""
        if time.monotonic() - self._told < PROGRESS_SECONDS and done < self._events:
            return
        self._told = time.monotonic()
        line = f"{done:,} of {self._events:,} events, {done / self.seconds:,.0f} events/s"
        print(f"\r{line}" if self._terminal else line, end="" if self._terminal else "\n", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the line."""
        if self._terminal:
            print(file=sys.stderr)
