"""`millstream bench standing`: thousands of registrations beside one join by hand, for several numbers of them."""

from __future__ import annotations

import argparse
from itertools import product
from typing import Any

from millstream_bench.commands.arguments import (
    add_against,
    add_choices,
    add_data,
    add_json,
    add_runs,
    at_least,
    check_names,
    names,
    say,
)
from millstream_bench.commands.arguments import numbers as comma_numbers
from millstream_bench.workloads import standing


def add_arguments(commands: Any) -> None:
    """The arguments of this workload."""
    workload = standing.WORKLOAD
    parser = commands.add_parser(workload.name, help=workload.what, description=workload.what)
    parser.add_argument(
        "--registrations",
        type=comma_numbers,
        default=[100, 10_000, 100_000],
        metavar="N,N",
        help="how many rules there are, one measurement for each number (100,10000,100000)",
    )
    parser.add_argument(
        "--rules",
        type=names,
        default=["bound", "range"],
        metavar="FORMS",
        help="bound, band, range, prefix: the forms of rules, one measurement for each (bound,range)",
    )
    add_against(parser, list(workload.engines)[1:], "spark")
    parser.add_argument("--rows", type=at_least(1), default=2_000_000, help="rows to process (%(default)s)")
    parser.add_argument("--keys", type=at_least(1), default=500, help="distinct keys in them (%(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=1, help="seed of the data (%(default)s)")
    add_choices(parser, workload.choices)
    add_runs(parser)
    add_data(parser)
    add_json(parser, "one JSON object a line: for each number one for each engine, then the ratios")
    parser.set_defaults(command=_standing)


def _standing(arguments: argparse.Namespace) -> int:
    from millstream_bench.commands.output import show
    from millstream_bench.data.rows import cache_folder
    from millstream_bench.data.rules import RULE_SETS
    from millstream_bench.harness import report
    from millstream_bench.harness.compare import compare
    from millstream_bench.harness.workload import Size

    workload = standing.WORKLOAD
    check_names("bench standing", arguments.rules, RULE_SETS)
    for form, count in product(arguments.rules, arguments.registrations):
        say(f"standing: {count:,} registrations of the form {form}: {RULE_SETS[form].what}")
        results = compare(
            workload,
            workload.chosen(arguments.against),
            Size(arguments.rows, arguments.keys, arguments.seed),
            {"registrations": count, "hits": arguments.hits, "rules": list(RULE_SETS).index(form)},
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
    return 0
