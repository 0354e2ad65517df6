"""`millstream generate`: data to try queries on, the same for the same seed."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from millstream_bench.commands import generate_nexmark
from millstream_bench.commands.arguments import at_least

MATCH = "a soccer match with sensors, in the manner of the DEBS 2013 Grand Challenge"
MATCH_EPILOG = """
Progress goes to standard error. The folder gets the events, the sensors, the times of play, and the truth about hits,
holders of the ball, shots and running. 60 minutes have the times of the real match: two halves of 30 minutes, with a
warm-up before and a break between them.
"""
_LINE_SECONDS = 5.0


def add_arguments(commands: Any) -> None:
    """The arguments of this sub-command, one more sub-command for each kind of data."""
    parser = commands.add_parser("generate", help="make data to try queries on", description=__doc__)
    kinds = parser.add_subparsers(title="kinds of data", metavar="KIND", required=True)
    _add_match(kinds)
    generate_nexmark.add_arguments(kinds)


def _add_match(kinds: Any) -> None:
    parser = kinds.add_parser("match", help=MATCH, description=f"{MATCH[0].upper()}{MATCH[1:]}.", epilog=MATCH_EPILOG)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the match goes; new, or empty")
    parser.add_argument("--minutes", type=float, default=10.0, help="minutes of play (%(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=1, help="seed of the play (%(default)s)")
    parser.add_argument("--format", choices=("parquet", "csv"), default="parquet", help="of the events (%(default)s)")
    parser.add_argument(
        "--disorder",
        type=at_least(0),
        default=0,
        metavar="MS",
        help="events come up to so many milliseconds late (%(default)s: in the order of their times)",
    )
    parser.add_argument(
        "--files", type=at_least(1), metavar="N", help="files of events (default: one for each 20 seconds)"
    )
    parser.add_argument("--json", action="store_true", help="the summary as one JSON object")
    parser.set_defaults(command=_match)


def _match(arguments: argparse.Namespace) -> int:
    from millstream_bench.soccer.write import write_match

    started = time.monotonic()
    facts = write_match(
        arguments.folder,
        minutes=arguments.minutes,
        seed=arguments.seed,
        format=arguments.format,
        disorder=arguments.disorder,
        files=arguments.files,
        tell=_teller(started),
    )
    elapsed = time.monotonic() - started
    rate = facts["events"] / elapsed
    if arguments.json:
        told = {key: value for key, value in facts.items() if key != "events_by_file"}
        print(json.dumps({**told, "seconds": round(elapsed, 3), "events_per_second": round(rate)}))
    else:
        print(
            f"{arguments.folder}: {facts['events']:,} events in {facts['files']:,} files, {facts['hits']:,} hits, "
            f"{facts['shots']:,} shots; {elapsed:.1f} s, {rate:,.0f} events/s"
        )
    return 0


def _teller(started: float) -> Callable[[int, float], None]:
    """Tells on standard error how far the work is: one line that is written over on a terminal, else now and then."""
    terminal = sys.stderr.isatty()
    told = started

    def tell(events: int, share: float) -> None:
        nonlocal told
        now = time.monotonic()
        done = share >= 1
        if now - told < (0.2 if terminal else _LINE_SECONDS) and not (terminal and done):
            return
        told = now
        line = f"{share:4.0%}  {events:,} events, {events / (now - started):,.0f} events/s"
        if terminal:
            print(f"\r{line}", end="\r\033[K" if done else "", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    return tell
