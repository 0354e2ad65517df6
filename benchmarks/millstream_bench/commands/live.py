"""`millstream bench live`: queries created, altered and dropped while rows come in."""

from __future__ import annotations

import argparse
from typing import Any

from millstream_bench.commands.arguments import add_json, at_least, say


def add_arguments(commands: Any) -> None:
    """The arguments of this measurement."""
    what = "live: queries created, altered and dropped while rows come in, with and without a history"
    parser = commands.add_parser("live", help=what, description=what)
    parser.add_argument(
        "--history",
        type=_histories,
        default=[0, 1_000_000],
        metavar="N,N",
        help="how many rows are there before, one measurement for each number (0,1000000)",
    )
    parser.add_argument("--rate", type=at_least(1), default=1000, help="rows in a second of event time (%(default)s)")
    parser.add_argument("--keys", type=at_least(1), default=100, help="different keys (%(default)s)")
    add_json(parser, "one JSON object a line, one for each history")
    parser.set_defaults(command=_live)


def _live(arguments: argparse.Namespace) -> int:
    from millstream_bench.commands.output import print_json, print_points
    from millstream_bench.measures import live

    found = []
    for taken in live.measure(live.Load(arguments.rate, arguments.keys), arguments.history, say):
        found.append(taken.to_json())
        if arguments.json:
            print_json(found[-1])
    if not arguments.json:
        print_points(found, [name for name in found[0] if name != "bench"])
    return 0


def _histories(text: str) -> list[int]:
    return [at_least(0)(part) for part in text.split(",")]
