"""`millstream bench idle`: several inputs, of which one is nearly silent."""

from __future__ import annotations

import argparse
from typing import Any

from millstream.catalog.heartbeats import heartbeats
from millstream_bench.commands.arguments import add_json, at_least, check_names, names, say


def add_arguments(commands: Any) -> None:
    """The arguments of this workload."""
    what = "idle: how long answers wait for a stream that is nearly silent, by the kind of heartbeats"
    parser = commands.add_parser("idle", help=what, description=what)
    parser.add_argument("--fast", type=_rate, default=200.0, help="rows a second of the fast stream (%(default)s)")
    parser.add_argument("--slow", type=_rate, default=0.1, help="rows a second of the slow stream (%(default)s)")
    parser.add_argument("--seconds", type=at_least(1), default=60, help="how long to measure each (%(default)s)")
    parser.add_argument("--window", type=at_least(1), default=1, help="length of the window in seconds (%(default)s)")
    parser.add_argument(
        "--heartbeats",
        type=_kinds,
        default=["none", "1 second", "on demand"],
        metavar="KINDS",
        help="kinds of heartbeats, comma-separated (none,1 second,on demand)",
    )
    parser.add_argument(
        "--queries",
        type=names,
        default=["count"],
        metavar="NAMES",
        help="count: windows over the union; merge: the union in the order of time (count)",
    )
    parser.add_argument(
        "--warm-up",
        type=at_least(0),
        default=15,
        help="seconds after the first micro-batch that do not count (%(default)s)",
    )
    add_json(parser, "one JSON object a line, one for each kind of heartbeats")
    parser.set_defaults(command=_idle)


def _idle(arguments: argparse.Namespace) -> int:
    from millstream_bench.commands.output import print_json, print_table
    from millstream_bench.measures import idle

    check_names("bench idle", arguments.queries, idle.QUERIES)
    figures = ("answers", "mean_delay_s", "p99_delay_s", "idle_share", "peak_tuples", "peak_moments")
    for query in arguments.queries:
        shape = idle.Shape(
            arguments.fast, arguments.slow, arguments.window, arguments.seconds, arguments.warm_up, query
        )
        found = []
        for waiting in idle.measure(shape, arguments.heartbeats, say):
            found.append(waiting.to_json())
            if arguments.json:
                print_json(found[-1])
        if not arguments.json:  # a column for each kind: there are more figures than a line has room for
            rows = [[name, *(kind[name] for kind in found)] for name in (*figures, "largest_burst", "batches", "marks")]
            print_table([f"{query}, heartbeats", *(kind["heartbeats"] for kind in found)], rows)
    return 0


def _kinds(text: str) -> list[str]:
    kinds = names(text)
    try:
        return [str(heartbeats(kind)) for kind in kinds]
    except ValueError as problem:
        raise argparse.ArgumentTypeError(f"a kind of heartbeats is {problem}") from None


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0")
    return rate
