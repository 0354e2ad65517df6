"""`millstream bench uda`: user-defined aggregates in their forms, beside those of others, and the paper's figures."""

from __future__ import annotations

import argparse
from typing import Any

from millstream_bench.commands.arguments import add_against, add_json, at_least, check_names, names, numbers, say
from millstream_bench.commands.compared import add_size, chosen_options, chosen_size, compare_engines
from millstream_bench.workloads import sliding, uda_avg, uda_max, uda_over, uda_udaf

FORMS = {"avg": uda_avg.WORKLOAD, "max": uda_max.WORKLOAD, "over": uda_over.WORKLOAD}
PAPER_COLUMNS = ("aggregate", "variant", "operator", "window", "slide", "tuples_per_s", "blob_bytes")


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
    add_size(parser, uda_over.WORKLOAD)
    add_json(parser, "one JSON object a line: for each aggregate one an engine, then the ratios")
    parser.set_defaults(command=_forms)


def _forms(arguments: argparse.Namespace) -> int:
    check_names("bench uda forms", arguments.only, FORMS)
    for name in arguments.only:
        compare_engines(arguments, FORMS[name], list(FORMS[name].engines))
    return 0


# -- udaf ------------------------------------------------------------------------------------------------------


def _add_udaf(parts: Any) -> None:
    what = "the same aggregate in Python by Millstream, by applyInPandasWithState of Spark and by a UDAF of PyFlink"
    parser = parts.add_parser("udaf", help=what, description=what)
    add_against(parser, [*list(uda_udaf.WORKLOAD.engines)[1:], "pyflink"], "applyinpandas,pyflink")
    add_size(parser, sliding.WORKLOAD)
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
    add_json(parser, "one JSON object a line: one for each engine, then the ratios")
    parser.set_defaults(command=_udaf)


def _udaf(arguments: argparse.Namespace) -> int:
    from millstream_bench.commands.output import show
    from millstream_bench.data.rows import cache_folder
    from millstream_bench.measures import uda_rates

    results = uda_rates.measure(
        arguments.against,
        chosen_size(arguments),
        arguments.pyflink_rows,
        chosen_options(arguments, sliding.WORKLOAD),
        uda_rates.Runs(arguments.repeat, arguments.warm_up, arguments.warm_up_seconds, arguments.pyflink_repeat),
        arguments.data or cache_folder(),
        say,
    )
    if arguments.json:
        print("\n".join(uda_rates.json_lines(results)))
    else:
        show(uda_rates.table(results))
    return 0


# -- paper -----------------------------------------------------------------------------------------------------


def _add_paper(parts: Any) -> None:
    what = "figures 4 to 7 of [Bai 2006]: rate by window, and rate and memory by slide, without Spark"
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
    add_json(parser, "one JSON object a line, one for each point")
    parser.set_defaults(command=_paper)


def _paper(arguments: argparse.Namespace) -> int:
    from millstream_bench.commands.output import print_json, print_points
    from millstream_bench.measures.uda_paper import Limits, measure, points
    from millstream_bench.measures.uda_variants import chosen

    limits = Limits(arguments.rows, arguments.batch, arguments.seconds)
    found = []
    for variant in chosen(arguments.aggregates, arguments.variants):
        for window, slide in points(arguments.windows, arguments.window, arguments.slides):
            say(f"uda paper: {variant.aggregate}, {variant.what}: window of {window:,}, slide of {slide:,}")
            found.append(measure(variant, window, slide, limits).to_json())
            if arguments.json:
                print_json(found[-1])
    if not arguments.json:
        print_points(found, PAPER_COLUMNS)
    return 0
