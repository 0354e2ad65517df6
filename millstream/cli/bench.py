"""`millstream bench WORKLOAD`: the same job on Millstream and on other engines, as a ratio."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from millstream.bench import passthrough, sliding
from millstream.bench.workload import Size, Workload

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
    workloads = parser.add_subparsers(title="workloads", metavar="WORKLOAD", required=True)
    for workload in WORKLOADS:
        own = workloads.add_parser(workload.name, help=workload.what, description=workload.what, epilog=EPILOG)
        _add_workload_arguments(own, workload)


def _add_workload_arguments(parser: argparse.ArgumentParser, workload: Workload) -> None:
    others = ", ".join(list(workload.engines)[1:])
    parser.add_argument(
        "--against", metavar="ENGINES", default="", help=f"engines to compare with, comma-separated: {others}"
    )
    parser.add_argument("--rows", type=_at_least(1), default=10_000_000, help="rows to process (%(default)s)")
    parser.add_argument("--keys", type=_at_least(1), default=1000, help="distinct keys in them (%(default)s)")
    for choice in workload.choices:
        parser.add_argument(
            f"--{choice.name}", type=_at_least(0), default=choice.default, help=f"{choice.what} (%(default)s)"
        )
    parser.add_argument("--seed", type=_at_least(0), default=1, help="seed of the data (%(default)s)")
    parser.add_argument("--repeat", type=_at_least(1), default=5, metavar="N", help="timed runs (%(default)s)")
    parser.add_argument(
        "--warm-up", type=_at_least(0), default=5, metavar="N", help="untimed runs before them (%(default)s)"
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="where generated data is kept for later runs (default: the system's temporary folder)",
    )
    parser.add_argument(
        "--json", action="store_true", help="one JSON object a line: one for each engine, then the ratios"
    )
    parser.set_defaults(command=bench, workload=workload)


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
        Size(arguments.rows, arguments.keys, arguments.seed),
        {choice.name: getattr(arguments, choice.name) for choice in workload.choices},
        root=arguments.data or cache_folder(),
        repeat=arguments.repeat,
        warm_up=arguments.warm_up,
        say=lambda line: print(line, file=sys.stderr),
    )
    if arguments.json:
        print("\n".join(report.json_lines(results)))
    else:
        Console(highlight=False).print(report.table(results))
    return 0


def _at_least(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            number = int(text.replace("_", ""))
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least {least}")
        return number

    return read
