"""`millstream bench sweep`: the other workloads over a range of shapes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from millstream_bench.commands.arguments import add_against, add_data, at_least, say
from millstream_bench.workloads import sliding


def add_arguments(commands: Any) -> None:
    """The arguments of this sub-command."""
    what = "all of them: throughput by range, keys and disorder, state by range, and latency, kept in one file"
    parser = commands.add_parser("sweep", help=what, description=what)
    add_against(parser, list(sliding.WORKLOAD.engines)[1:], "spark,flink")
    parser.add_argument("--rows", type=at_least(1), default=10_000_000, help="rows for each point (%(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=1, help="seed of the data (%(default)s)")
    parser.add_argument("--repeat", type=at_least(1), default=3, metavar="N", help="timed runs (%(default)s)")
    parser.add_argument(
        "--warm-up", type=at_least(0), default=2, metavar="N", help="untimed runs before them (%(default)s)"
    )
    parser.add_argument(
        "--latency-seconds", type=at_least(0), default=60, metavar="S", help="length of the latency run; 0: none (60)"
    )
    parser.add_argument(
        "--figures",
        type=Path,
        default=Path("docs/benchmarks/figures.json"),
        metavar="FILE",
        help="where the figures go; points that it holds already are not measured again (%(default)s)",
    )
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw them too, into this folder")
    add_data(parser)
    parser.set_defaults(command=_sweep)


def _sweep(arguments: argparse.Namespace) -> int:
    from millstream_bench.data.rows import cache_folder
    from millstream_bench.measures import plots
    from millstream_bench.measures.sweep import Plan, sweep

    others = sliding.WORKLOAD.chosen(arguments.against)[1:]
    plan = Plan(
        arguments.rows, tuple(others), arguments.repeat, arguments.warm_up, arguments.seed, arguments.latency_seconds
    )
    figures = sweep(plan, arguments.figures, arguments.data or cache_folder(), say)
    if arguments.plots:
        for file in plots.draw(figures, arguments.plots):
            print(file)
    return 0
