"""`millstream bench nexmark`: the queries of the NEXMark suite beside other engines, and all at once."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from millstream_bench.commands.arguments import add_against, add_data, add_json, add_runs, at_least, say

WHAT = "the NEXMark queries: events a second and memory of each, beside other engines, and of all at once"
QUERIES = "q5,q7,q8,q11,q15,q16,q17"

EPILOG = """
Each engine runs in a process of its own, and all queries in it. The rows of each query are checked first, against what
DuckDB gives for the same events. Then come the warm-up and the timed runs, in turns, and the median run counts.
Progress goes to standard error. The exit code is 0 only if all rows were right.
"""


def add_arguments(commands: Any) -> None:
    """The arguments of this workload."""
    parser = commands.add_parser("nexmark", help=WHAT, description=WHAT, epilog=EPILOG)
    suite = "flink-suite (Flink with the suite's own q15 to q17, where each bid changes the answer)"
    add_against(parser, ("spark", "flink", suite))
    parser.add_argument(
        "--queries", metavar="NAMES", default=QUERIES, help="queries, comma-separated, or all (%(default)s)"
    )
    parser.add_argument("--events", type=at_least(1), default=1_000_000, help="events to process (%(default)s)")
    parser.add_argument(
        "--rate", type=at_least(1), default=10_000, help="events in a second of their time (%(default)s)"
    )
    parser.add_argument("--seed", type=at_least(0), default=1, help="seed of the data (%(default)s)")
    parser.add_argument(
        "--files-per-batch",
        type=at_least(1),
        default=4,
        metavar="N",
        help="how many of the 20 files of each kind a micro-batch of Millstream and of Spark takes (%(default)s)",
    )
    parser.add_argument(
        "--together",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="run all of the queries at once too, if there are several (yes)",
    )
    add_runs(parser)
    add_data(parser)
    parser.add_argument(
        "--figures",
        type=Path,
        metavar="FILE",
        help="keep the figures in this file, written after each query; those that it holds are not measured again",
    )
    add_json(parser, "one JSON object a line, for each query and engine")
    parser.set_defaults(command=_nexmark)


def _nexmark(arguments: argparse.Namespace) -> int:
    # Only now, so that other sub-commands need not wait for these to load.
    from millstream_bench.commands.output import show
    from millstream_bench.data.rows import cache_folder
    from millstream_bench.harness.figures import open_figures
    from millstream_bench.nexmark.contest import report
    from millstream_bench.nexmark.contest.measure import Plan, chosen_engines, chosen_queries

    names = chosen_queries(arguments.queries)
    plan = Plan(
        events=arguments.events,
        rate=arguments.rate,
        seed=arguments.seed,
        files_per_batch=arguments.files_per_batch,
        against=chosen_engines(arguments.against),
        repeat=arguments.repeat,
        warm_up=arguments.warm_up,
        warm_up_seconds=arguments.warm_up_seconds,
    )
    root = arguments.data or cache_folder()
    figures = open_figures(arguments.figures, plan.to_json())
    try:
        report.fill(figures, plan, names, arguments.together, arguments.figures, root, say)
    finally:  # what was measured before a failure is told all the same
        if arguments.json:
            for line in report.json_lines(figures, names):
                print(line)
        elif figures["points"]:
            show(report.table(figures, names))
    return 0
