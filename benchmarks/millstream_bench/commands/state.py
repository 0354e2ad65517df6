"""`millstream bench state`: how much a window keeps."""

from __future__ import annotations

import argparse
from typing import Any

from millstream_bench.commands.arguments import add_json, at_least, numbers, say

COLUMNS = ("tuples_per_key_and_s", "tuples", "window_tuples", "panes", "blobs", "blob_bytes", "rss_growth_bytes")


def add_arguments(commands: Any) -> None:
    """The arguments of this workload."""
    what = "state: what a sliding window of count, max and sum keeps, at several densities of the stream"
    parser = commands.add_parser("state", help=what, description=what)
    parser.add_argument("--range", type=at_least(1), default=3600, help="length of the window in seconds (%(default)s)")
    parser.add_argument("--slide", type=at_least(1), default=1, help="slide of the window in seconds (%(default)s)")
    parser.add_argument("--keys", type=at_least(1), default=1000, help="distinct keys (%(default)s)")
    parser.add_argument(
        "--tuples",
        type=numbers,
        default=[1, 10],
        metavar="N,N",
        help="tuples for each key in a second, one measurement for each number (1,10)",
    )
    add_json(parser, "one JSON object a line, one for each measurement")
    parser.set_defaults(command=_state)


def _state(arguments: argparse.Namespace) -> int:
    from millstream_bench.commands.output import print_json, print_points
    from millstream_bench.measures import state

    found = []
    for tuples in arguments.tuples:
        say(f"state: {arguments.range} s of range, {arguments.keys:,} keys, {tuples} tuples for each in a second")
        found.append(state.measure(state.Shape(arguments.range, arguments.slide, arguments.keys, tuples)).to_json())
        if arguments.json:
            print_json(found[-1])
    if not arguments.json:
        print_points(found, COLUMNS)
    return 0
