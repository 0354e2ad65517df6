"""`millstream bench many`: many queries over one stream."""

from __future__ import annotations

import argparse
from typing import Any

from millstream_bench.commands.arguments import add_json, at_least, check_names, names


def add_arguments(commands: Any) -> None:
    """The arguments of this workload."""
    what = "many: many queries over one stream, that share its reading and that do not"
    parser = commands.add_parser("many", help=what, description=what)
    parser.add_argument("--queries", type=_counts, default=[1, 10, 100], help="how many, comma-separated (1,10,100)")
    parser.add_argument("--kind", type=names, default=["filter"], metavar="KINDS", help="filter,window,mixed (filter)")
    parser.add_argument("--ways", type=names, default=["shared", "separate"], help="(shared,separate)")
    parser.add_argument("--rows", type=at_least(1000), default=2_000_000, help="rows of the stream (%(default)s)")
    parser.add_argument("--keys", type=at_least(1), default=100, help="different keys (%(default)s)")
    parser.add_argument("--files", type=at_least(1), default=8, help="files, two a batch (%(default)s)")
    parser.add_argument("--repeat", type=at_least(1), default=1, help="runs, of which the median counts (%(default)s)")
    add_json(parser, "one JSON object a line, one for each run")
    parser.set_defaults(command=_many)


def _many(arguments: argparse.Namespace) -> int:
    from millstream_bench.commands.output import print_json, print_table
    from millstream_bench.measures import many

    check_names("bench many", arguments.kind, many.KINDS)
    check_names("bench many", arguments.ways, (many.SHARED, many.SEPARATE))
    load = many.Load(arguments.rows, arguments.keys, arguments.files)
    found = []
    for taken in many.measure(load, arguments.kind, arguments.queries, arguments.ways, arguments.repeat):
        found.append(taken.to_json())
        if arguments.json:
            print_json(found[-1])
    if not arguments.json:
        columns = ["kind", "queries", "way", "rows_s", "batch_s", "seconds", "cpu_s", "memory_mb"]
        print_table(columns, [[run[name] for name in columns] for run in found])
    return 0


def _counts(text: str) -> list[int]:
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        counts = []
    if not counts or min(counts) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers from 1, as 1,10,100")
    return counts
