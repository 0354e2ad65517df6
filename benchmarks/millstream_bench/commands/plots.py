"""`millstream bench plots`: pictures of figures that were measured before."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_arguments(commands: Any) -> None:
    """The arguments of this sub-command."""
    what = "draw the figures of a sweep, or of the NEXMark queries, as PNG"
    parser = commands.add_parser("plots", help=what, description=what)
    parser.add_argument(
        "figures", type=Path, metavar="FIGURES", help="the file that bench sweep, or bench nexmark --figures, wrote"
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the pictures go")
    parser.set_defaults(command=_plots)


def _plots(arguments: argparse.Namespace) -> int:
    from millstream_bench.harness.figures import load_figures
    from millstream_bench.measures.plots import draw

    for file in draw(load_figures(arguments.figures), arguments.folder):
        print(file)
    return 0
