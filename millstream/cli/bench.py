"""`millstream bench`: Millstream beside other engines as a ratio, its latency, its state, and pictures of them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from millstream.bench import join, passthrough, sliding
from millstream.bench.workload import Size, Workload
from millstream.cli import bench_debs, bench_nexmark, bench_streams, bench_uda
from millstream.cli.bench_arguments import add_choices, add_data, add_runs, add_size, at_least, numbers, say
from millstream.cli.signals import leaving_in_order

WORKLOADS: tuple[Workload, ...] = (passthrough.WORKLOAD, sliding.WORKLOAD)

EPILOG = """
Each engine runs in a process of its own. After the warm-up the engines take turns, and the median run counts.
Progress goes to standard error. The exit code is 0 only if every engine did the whole job and all agree on
the number of result rows.
"""


def add_arguments(commands: Any) -> None:
    """The arguments of this sub-command, the same for every workload."""
    parser = commands.add_parser(
        "bench", help="measure Millstream beside other engines", description=__doc__, epilog=EPILOG
    )
    parser.set_defaults(signals=leaving_in_order)
    workloads = parser.add_subparsers(title="workloads", metavar="WORKLOAD", required=True)
    for workload in WORKLOADS:
        own = workloads.add_parser(workload.name, help=workload.what, description=workload.what, epilog=EPILOG)
        _add_workload_arguments(own, workload)
    _add_join(workloads)
    _add_latency(workloads)
    _add_state(workloads)
    bench_uda.add_arguments(workloads)
    bench_streams.add_arguments(workloads)
    bench_nexmark.add_arguments(workloads)
    bench_debs.add_arguments(workloads)
    _add_sweep(workloads)
    _add_plots(workloads)


def _add_workload_arguments(
    parser: argparse.ArgumentParser,
    workload: Workload,
    size: Callable[[argparse.ArgumentParser], None] = add_size,
    streams: int = 1,
) -> None:
    others = ", ".join(list(workload.engines)[1:])
    parser.add_argument(
        "--against", metavar="ENGINES", default="", help=f"engines to compare with, comma-separated: {others}"
    )
    size(parser)
    add_choices(parser, workload.choices)
    add_runs(parser)
    add_data(parser)
    parser.add_argument(
        "--json", action="store_true", help="one JSON object a line: one for each engine, then the ratios"
    )
    parser.set_defaults(command=bench, workload=workload, streams=streams)


def _add_join(commands: Any) -> None:
    workload = join.WORKLOAD
    parser = commands.add_parser(
        workload.name,
        help=workload.what,
        description=f"{workload.what}. Rows are given for each stream; rows per second count those of both.",
        epilog=EPILOG,
    )
    _add_workload_arguments(parser, workload, _add_join_size, streams=2)


def _add_join_size(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=at_least(1), default=1_000_000, help="rows of each stream (%(default)s)")
    parser.add_argument("--keys", type=at_least(1), default=20_000, help="distinct keys in them (%(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=1, help="seed of the data (%(default)s)")


def bench(arguments: argparse.Namespace) -> int:
    """Run one workload."""
    workload: Workload = arguments.workload
    names = workload.chosen(arguments.against)

    # Only now, so that other sub-commands need not wait for these to load.
    from rich.console import Console

    from millstream.bench import report
    from millstream.bench.compare import compare
    from millstream.bench.data import cache_folder

    results = compare(
        workload,
        names,
        Size(arguments.rows * arguments.streams, arguments.keys, arguments.seed),
        {choice.name: getattr(arguments, choice.name) for choice in workload.choices},
        root=arguments.data or cache_folder(),
        repeat=arguments.repeat,
        warm_up=arguments.warm_up,
        warm_up_seconds=arguments.warm_up_seconds,
        say=say,
    )
    if arguments.json:
        print("\n".join(report.json_lines(results)))
    else:
        Console(highlight=False).print(report.table(results))
    return 0


# -- latency ---------------------------------------------------------------------------------------------------


def _add_latency(commands: Any) -> None:
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
        "--warm-up",
        type=at_least(0),
        default=15,
        help="seconds after the first result that do not count (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.set_defaults(command=_latency)


def _latency(arguments: argparse.Namespace) -> int:
    from millstream.bench import latency

    names = ("rate", "keys", "range", "slide", "disorder", "every", "seconds", "warm_up")
    found = latency.measure(latency.Shape(*(getattr(arguments, name) for name in names)), say).to_json()
    if arguments.json:
        print(json.dumps(found))
        return 0
    print(f"{found['windows']} windows at {found['rate']:,} rows/s")
    print(f"latency: median {found['median_s']} s, 95 % within {found['p95_s']} s, at most {found['max_s']} s")
    print(f"from the start of the batch that carried the time stamp: median {found['median_from_batch_s']} s")
    print(f"after the end of the window: median {found['median_after_window_end_s']} s")
    parts = ", ".join(f"{name} {millis:.0f} ms" for name, millis in found["median_batch_ms"].items())
    print(f"{found['batches']} batches, median: {parts}")
    return 0


# -- state -----------------------------------------------------------------------------------------------------


def _add_state(commands: Any) -> None:
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
    parser.add_argument("--json", action="store_true", help="one JSON object a line, one for each measurement")
    parser.set_defaults(command=_state)


def _state(arguments: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.table import Table

    from millstream.bench import state

    columns = ("tuples_per_key_and_s", "tuples", "window_tuples", "panes", "blobs", "blob_bytes", "rss_growth_bytes")
    view = Table(*(name.replace("_", " ") for name in columns))
    for tuples in arguments.tuples:
        say(f"state: {arguments.range} s of range, {arguments.keys:,} keys, {tuples} tuples for each in a second")
        shape = state.Shape(arguments.range, arguments.slide, arguments.keys, tuples)
        found = state.measure(shape).to_json()
        view.add_row(*(f"{found[name]:,}" for name in columns))
        if arguments.json:
            print(json.dumps(found), flush=True)
    if not arguments.json:
        Console(highlight=False).print(view)
    return 0


# -- sweep and plots -------------------------------------------------------------------------------------------


def _add_sweep(commands: Any) -> None:
    what = "all of them: throughput by range, keys and disorder, state by range, and latency, kept in one file"
    parser = commands.add_parser("sweep", help=what, description=what)
    parser.add_argument("--against", default="spark,flink", metavar="ENGINES", help="engines besides (%(default)s)")
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
    from millstream.bench import plots
    from millstream.bench.data import cache_folder
    from millstream.bench.sweep import Plan, sweep

    others = sliding.WORKLOAD.chosen(arguments.against)[1:]
    plan = Plan(
        arguments.rows, tuple(others), arguments.repeat, arguments.warm_up, arguments.seed, arguments.latency_seconds
    )
    figures = sweep(plan, arguments.figures, arguments.data or cache_folder(), say)
    if arguments.plots:
        for file in plots.draw(figures, arguments.plots):
            print(file)
    return 0


def _add_plots(commands: Any) -> None:
    what = "draw the figures of a sweep, or of the NEXMark queries, as PNG"
    parser = commands.add_parser("plots", help=what, description=what)
    parser.add_argument(
        "figures", type=Path, metavar="FIGURES", help="the file that bench sweep, or bench nexmark --figures, wrote"
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the pictures go")
    parser.set_defaults(command=_plots)


def _plots(arguments: argparse.Namespace) -> int:
    from millstream.bench.plots import draw
    from millstream.bench.sweep import load

    for file in draw(load(arguments.figures), arguments.folder):
        print(file)
    return 0
