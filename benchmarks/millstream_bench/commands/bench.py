"""`millstream bench`: Millstream beside other engines as a ratio, its latency, its state, and pictures of them."""

from __future__ import annotations

from typing import Any

from millstream.cli.signals import leaving_in_order
from millstream_bench.commands import (
    compared,
    debs,
    idle,
    latency,
    live,
    many,
    nexmark,
    oop,
    plots,
    standing,
    state,
    sweep,
    uda,
)

PARTS = (compared, latency, live, state, standing, uda, idle, many, oop, nexmark, debs, sweep, plots)


def add_arguments(commands: Any) -> None:
    """The arguments of this sub-command: those of its workloads."""
    parser = commands.add_parser(
        "bench", help="measure Millstream beside other engines", description=__doc__, epilog=compared.EPILOG
    )
    parser.set_defaults(signals=leaving_in_order)
    workloads = parser.add_subparsers(title="workloads", metavar="WORKLOAD", required=True)
    for part in PARTS:
        part.add_arguments(workloads)
