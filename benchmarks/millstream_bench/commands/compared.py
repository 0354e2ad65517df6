"""Workloads that several engines run: `bench passthrough`, `bench sliding`, `bench join`."""

from __future__ import annotations

import argparse
from typing import Any

from millstream_bench.commands.arguments import add_against, add_choices, add_data, add_json, add_runs, at_least, say
from millstream_bench.harness.workload import Size, Workload
from millstream_bench.workloads import join, passthrough, sliding

EPILOG = """
Each engine runs in a process of its own. After the warm-up the engines take turns, and the median run counts.
Progress goes to standard error. The exit code is 0 only if every engine did the whole job and all agree on
the number of result rows.
"""


def add_arguments(commands: Any) -> None:
    """A sub-command for each workload; their arguments are the same."""
    for workload in (passthrough.WORKLOAD, sliding.WORKLOAD):
        parser = commands.add_parser(workload.name, help=workload.what, description=workload.what, epilog=EPILOG)
        _add_workload(parser, workload, streams=1)
    parser = commands.add_parser(
        join.WORKLOAD.name,
        help=join.WORKLOAD.what,
        description=f"{join.WORKLOAD.what}. Rows are given for each stream; rows per second count those of both.",
        epilog=EPILOG,
    )
    _add_workload(parser, join.WORKLOAD, streams=2)


def _add_workload(parser: argparse.ArgumentParser, workload: Workload, streams: int) -> None:
    add_against(parser, list(workload.engines)[1:])
    add_size(parser, workload, streams)
    add_json(parser, "one JSON object a line: one for each engine, then the ratios")
    parser.set_defaults(command=_compare, workload=workload)


def add_size(parser: argparse.ArgumentParser, workload: Workload, streams: int = 1) -> None:
    """How much data there is, how often the engines run over it, and where it is kept."""
    rows, keys, what = (
        (10_000_000, 1000, "rows to process") if streams == 1 else (1_000_000, 20_000, "rows of each stream")
    )
    parser.add_argument("--rows", type=at_least(1), default=rows, help=f"{what} (%(default)s)")
    parser.add_argument("--keys", type=at_least(1), default=keys, help="distinct keys in them (%(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=1, help="seed of the data (%(default)s)")
    add_choices(parser, workload.choices)
    add_runs(parser)
    add_data(parser)
    parser.set_defaults(streams=streams)


def chosen_size(arguments: argparse.Namespace) -> Size:
    """The size that was asked for; rows of all streams count."""
    return Size(arguments.rows * arguments.streams, arguments.keys, arguments.seed)


def chosen_options(arguments: argparse.Namespace, workload: Workload) -> dict[str, int]:
    """The numbers that were chosen for a workload."""
    return {choice.name: getattr(arguments, choice.name) for choice in workload.choices}


def compare_engines(arguments: argparse.Namespace, workload: Workload, engines: list[str]) -> None:
    """Run a workload on these engines and tell the figures."""
    # Only now, so that other sub-commands need not wait for these to load.
    from millstream_bench.commands.output import show
    from millstream_bench.data.rows import cache_folder
    from millstream_bench.harness import report
    from millstream_bench.harness.compare import compare

    results = compare(
        workload,
        engines,
        chosen_size(arguments),
        chosen_options(arguments, workload),
        root=arguments.data or cache_folder(),
        repeat=arguments.repeat,
        warm_up=arguments.warm_up,
        warm_up_seconds=arguments.warm_up_seconds,
        say=say,
    )
    if arguments.json:
        print("\n".join(report.json_lines(results)), flush=True)
    else:
        show(report.table(results))


def _compare(arguments: argparse.Namespace) -> int:
    workload: Workload = arguments.workload
    compare_engines(arguments, workload, workload.chosen(arguments.against))
    return 0
