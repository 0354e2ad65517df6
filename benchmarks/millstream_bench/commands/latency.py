"""`millstream bench latency`: how long a result takes at a steady load."""

from __future__ import annotations

import argparse
from typing import Any

from millstream_bench.commands.arguments import add_json, at_least, say


def add_arguments(commands: Any) -> None:
    """The arguments of this workload."""
    what = "latency: from the file that covers a window to its result in a sink, at a steady load"
    parser = commands.add_parser("latency", help=what, description=what)
    parser.add_argument("--rate", type=at_least(1), default=10_000, help="rows per second (%(default)s)")
    parser.add_argument("--keys", type=at_least(1), default=100, help="distinct keys in them (%(default)s)")
    parser.add_argument("--range", type=at_least(1), default=1, help="length of the window in seconds (%(default)s)")
    parser.add_argument("--slide", type=at_least(1), default=1, help="slide of the window in seconds (%(default)s)")
    parser.add_argument("--disorder", type=at_least(0), default=0, help="how late rows are, in ms (%(default)s)")
    parser.add_argument("--every", type=at_least(1), default=100, help="a file so often, in ms (%(default)s)")
    parser.add_argument("--seconds", type=at_least(1), default=60, help="how long to measure (%(default)s)")
    parser.add_argument(
        "--warm-up", type=at_least(0), default=15, help="seconds after the first result that do not count (%(default)s)"
    )
    add_json(parser, "one JSON object")
    parser.set_defaults(command=_latency)


def _latency(arguments: argparse.Namespace) -> int:
    from millstream_bench.commands.output import print_json
    from millstream_bench.measures import latency

    names = ("rate", "keys", "range", "slide", "disorder", "every", "seconds", "warm_up")
    found = latency.measure(latency.Shape(*(getattr(arguments, name) for name in names)), say).to_json()
    if arguments.json:
        print_json(found)
        return 0
    print(f"{found['windows']} windows at {found['rate']:,} rows/s")
    print(f"latency: median {found['median_s']} s, 95 % within {found['p95_s']} s, at most {found['max_s']} s")
    print(f"from the start of the batch that carried the time stamp: median {found['median_from_batch_s']} s")
    print(f"after the end of the window: median {found['median_after_window_end_s']} s")
    parts = ", ".join(f"{name} {millis:.0f} ms" for name, millis in found["median_batch_ms"].items())
    print(f"{found['batches']} batches, median: {parts}")
    return 0
