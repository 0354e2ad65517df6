"""`millstream bench oop`: several inputs, of which one lags behind the others."""

from __future__ import annotations

import argparse
from typing import Any

from millstream_bench.commands.arguments import add_json, at_least, say


def add_arguments(commands: Any) -> None:
    """The arguments of this workload."""
    what = "oop: what operators keep when inputs lag behind each other, beside those that put tuples in order first"
    parser = commands.add_parser("oop", help=what, description=what)
    parser.add_argument("--rows", type=at_least(1), default=240_000, help="rows of all inputs together (%(default)s)")
    parser.add_argument("--seconds", type=at_least(1), default=120, help="event time that they span (%(default)s)")
    parser.add_argument(
        "--skew",
        type=_lags,
        default=[0, 1, 5, 10, 30],
        metavar="S,S",
        help="how far an input lags, in seconds, one measurement for each (0,1,5,10,30)",
    )
    parser.add_argument("--range", type=at_least(1), default=10, help="length of the window in seconds (%(default)s)")
    parser.add_argument("--slide", type=at_least(1), default=10, help="slide of the counting window (%(default)s)")
    parser.add_argument(
        "--keys",
        type=at_least(1),
        default=100,
        help="groups that are counted; joins have 100 times as many (%(default)s)",
    )
    add_json(parser, "one JSON object a line, one for each measurement")
    parser.set_defaults(command=_oop)


def _oop(arguments: argparse.Namespace) -> int:
    from millstream_bench.commands.output import print_json, print_points
    from millstream_bench.measures import oop

    columns = ("rows", "seconds", "range", "slide", "keys")
    shape = oop.Shape(*(getattr(arguments, name) for name in columns))
    found = []
    for kept in oop.measure(shape, arguments.skew, say):
        found.append(kept.to_json())
        if arguments.json:
            print_json(found[-1])
    if not arguments.json:
        # "stored" is in JSON as tuples and partial states, too; a terminal has no room for all of it.
        sides = ("out_of_order", "in_order")
        flat = [{**f, **{f"{s}_{name}": value for s in sides for name, value in f[s].items()}} for f in found]
        shown = ("query", "skew", "answers", *(f"{s}_{name}" for name in ("stored", "bytes") for s in sides))
        print_points(flat, shown)
    return 0


def _lags(text: str) -> list[int]:
    return [at_least(0)(part) for part in text.split(",")]
