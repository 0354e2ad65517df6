"""`millstream bench uda`: user-defined aggregates in their forms, beside those of others, and the paper's figures."""

from __future__ import annotations

import argparse
import json
from typing import Any

from millstream.bench import sliding, uda_avg, uda_max, uda_over, uda_udaf
from millstream.bench.workload import Size
from millstream.cli.bench_arguments import add_choices, add_data, add_runs, add_size, at_least, names, numbers, say
from millstream.errors import SettingError, suggest

FORMS = {"avg": uda_avg.WORKLOAD, "max": uda_max.WORKLOAD, "over": uda_over.WORKLOAD}


def add_arguments(commands: Any) -> None:
    """The arguments of this workload, which has parts."""
    parser = commands.add_parser("uda", help="user-defined aggregates", description=__doc__)
    parts = parser.add_subparsers(title="parts", metavar="PART", required=True)
    _add_forms(parts)
    _add_udaf(parts)
    _add_paper(parts)


# -- forms -----------------------------------------------------------------------------------------------------


def _add_forms(parts: Any) -> None:
    what = "one aggregate in SQL, built in and in Python with batch forms, all by Millstream, in windows and with OVER"
    parser = parts.add_parser("forms", help=what, description=what)
    parser.add_argument(
        "--only", type=names, default=list(FORMS), metavar="NAMES", help=f"which: {', '.join(FORMS)} (all of them)"
    )
    add_size(parser)
    add_choices(parser, uda_over.WORKLOAD.choices)
    add_runs(parser)
    add_data(parser)
    parser.add_argument(
        "--json", action="store_true", help="one JSON object a line: for each aggregate one an engine, then the ratios"
    )
    parser.set_defaults(command=_forms)


def _forms(arguments: argparse.Namespace) -> int:
    from rich.console import Console

    from millstream.bench import report
    from millstream.bench.compare import compare
    from millstream.bench.data import cache_folder

    for name in arguments.only:
        if name not in FORMS:
            raise SettingError(f"bench uda forms has no '{name}': {suggest(name, FORMS)}")
    for name in arguments.only:
        workload = FORMS[name]
        results = compare(
            workload,
            list(workload.engines),
            Size(arguments.rows, arguments.keys, arguments.seed),
            {choice.name: getattr(arguments, choice.name) for choice in workload.choices},
            root=arguments.data or cache_folder(),
            repeat=arguments.repeat,
            warm_up=arguments.warm_up,
            warm_up_seconds=arguments.warm_up_seconds,
            say=say,
        )
        if arguments.json:
            print("\n".join(report.json_lines(results)), flush=True)
        else:
            Console(highlight=False).print(report.table(results))
    return 0


# -- udaf ------------------------------------------------------------------------------------------------------


def _add_udaf(parts: Any) -> None:
    what = "the same aggregate in Python by Millstream, by applyInPandasWithState of Spark and by a UDAF of PyFlink"
    parser = parts.add_parser("udaf", help=what, description=what)
    others = ", ".join([*list(uda_udaf.WORKLOAD.engines)[1:], "pyflink"])
    parser.add_argument(
        "--against",
        metavar="ENGINES",
        default="applyinpandas,pyflink",
        help=f"engines to compare with, comma-separated: {others} (%(default)s)",
    )
    add_size(parser)
    add_choices(parser, sliding.WORKLOAD.choices)
    add_runs(parser)
    parser.add_argument(
        "--pyflink-rows",
        type=at_least(1),
        default=100_000,
        metavar="N",
        help="rows for PyFlink, which is slow; it also runs over a quarter of them (%(default)s)",
    )
    parser.add_argument(
        "--pyflink-repeat", type=at_least(1), default=1, metavar="N", help="timed runs of PyFlink (%(default)s)"
    )
    add_data(parser)
    parser.add_argument(
        "--json", action="store_true", help="one JSON object a line: one for each engine, then the ratios"
    )
    parser.set_defaults(command=_udaf)


def _udaf(arguments: argparse.Namespace) -> int:
    from rich.console import Console

    from millstream.bench import uda_rates
    from millstream.bench.data import cache_folder

    results = uda_rates.measure(
        arguments.against,
        Size(arguments.rows, arguments.keys, arguments.seed),
        arguments.pyflink_rows,
        {choice.name: getattr(arguments, choice.name) for choice in sliding.WORKLOAD.choices},
        uda_rates.Runs(arguments.repeat, arguments.warm_up, arguments.warm_up_seconds, arguments.pyflink_repeat),
        arguments.data or cache_folder(),
        say,
    )
    if arguments.json:
        print("\n".join(uda_rates.json_lines(results)))
    else:
        Console(highlight=False).print(uda_rates.table(results))
    return 0


# -- paper -----------------------------------------------------------------------------------------------------


def _add_paper(parts: Any) -> None:
    what = "figures 4 to 7 of the Stream Mill paper: rate by window, and rate and memory by slide, without Spark"
    parser = parts.add_parser("paper", help=what, description=what)
    parser.add_argument(
        "--aggregates", type=names, default=[], metavar="NAMES", help="average, frequent or both (both)"
    )
    parser.add_argument(
        "--variants",
        type=names,
        default=[],
        metavar="NAMES",
        help="of expire, own-window, naive, panes, python, built-in (all)",
    )
    parser.add_argument(
        "--windows",
        type=numbers,
        default=[100, 1_000, 10_000, 100_000],
        metavar="N,N",
        help="rows in the window, for the rates at a slide of 1 (100,1000,10000,100000)",
    )
    parser.add_argument(
        "--window", type=at_least(2), default=40_000, help="rows in the window whose slides differ (%(default)s)"
    )
    parser.add_argument(
        "--slides",
        type=numbers,
        default=[1, 10, 100, 1_000, 10_000, 40_000],
        metavar="N,N",
        help="its slides (1,10,100,1000,10000,40000)",
    )
    parser.add_argument("--rows", type=at_least(1), default=1_000_000, help="rows for a point at most (%(default)s)")
    parser.add_argument("--batch", type=at_least(1), default=100_000, help="rows in a batch at most (%(default)s)")
    parser.add_argument("--seconds", type=at_least(1), default=3, help="seconds for a point, about (%(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, one for each point")
    parser.set_defaults(command=_paper)


def _paper(arguments: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.table import Table

    from millstream.bench.uda_paper import Limits, measure, points
    from millstream.bench.uda_variants import chosen

    limits = Limits(arguments.rows, arguments.batch, arguments.seconds)
    columns = ("aggregate", "variant", "operator", "window", "slide", "tuples_per_s", "blob_bytes")
    view = Table(*(name.replace("_", " ") for name in columns))
    for variant in chosen(arguments.aggregates, arguments.variants):
        for window, slide in points(arguments.windows, arguments.window, arguments.slides):
            say(f"uda paper: {variant.aggregate}, {variant.what}: window of {window:,}, slide of {slide:,}")
            found = measure(variant, window, slide, limits).to_json()
            view.add_row(*(f"{found[n]:,}" if isinstance(found[n], int) else found[n] for n in columns))
            if arguments.json:
                print(json.dumps(found), flush=True)
    if not arguments.json:
        Console(highlight=False).print(view)
    return 0
