"""`millstream bench debs`: the soccer match of the DEBS 2013 challenge, its speed and its delays."""

from __future__ import annotations

import argparse
from typing import Any

from millstream.errors import SettingError
from millstream_bench.commands.arguments import add_data, add_json, at_least, check_names, names, say


def add_arguments(commands: Any) -> None:
    """The arguments of this workload."""
    what = "debs: the four queries over a soccer match, each alone and all together, and how long their results take"
    parser = commands.add_parser("debs", help=what, description=what)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long the match is (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, another match (%(default)s)")
    parser.add_argument("--queries", type=names, default=[], metavar="NAMES", help="some of q1,q2,q3,q4 (all of them)")
    parser.add_argument("--together", action="store_true", help="not each alone, only all together")
    parser.add_argument("--repeat", type=at_least(1), default=1, help="timed runs of each (%(default)s)")
    parser.add_argument("--warm-up", type=at_least(0), default=1, help="runs before these (%(default)s)")
    parser.add_argument("--keep", action="store_true", help="write the results to Parquet files instead of nowhere")
    parser.add_argument("--delays", action="store_true", help="measure delays in real time instead of the speed")
    parser.add_argument("--seconds", type=at_least(1), default=60, help="of play, for --delays (%(default)s)")
    parser.add_argument("--speed", type=float, default=1.0, help="times real time, for --delays (%(default)s)")
    add_data(parser)
    add_json(parser, "one JSON object a line")
    parser.set_defaults(command=_debs)


def _debs(arguments: argparse.Namespace) -> int:
    from millstream_bench.data.rows import cache_folder
    from millstream_bench.soccer.queries import NAMES

    check_names("bench debs", arguments.queries, NAMES)
    if arguments.minutes <= 0 or arguments.speed <= 0:
        raise SettingError("--minutes and --speed must be more than 0")
    root = arguments.data or cache_folder()
    root.mkdir(parents=True, exist_ok=True)
    if arguments.delays:
        from millstream_bench.measures import debs_delay

        shape = debs_delay.Shape(seconds=arguments.seconds, speed=arguments.speed, seed=arguments.seed)
        _show([delays.to_json() for delays in debs_delay.measure(root, shape, say)], arguments.json)
        return 0
    from millstream_bench.measures import debs

    runs = debs.Runs(
        tuple(arguments.queries) or NAMES, not arguments.together, arguments.repeat, arguments.warm_up, arguments.keep
    )
    speeds = debs.measure(root, arguments.minutes, arguments.seed, runs, say)
    _show([speed.to_json() for speed in speeds], arguments.json)
    return 0


def _show(found: list[dict[str, Any]], as_json: bool) -> None:
    from millstream_bench.commands.output import print_json, print_points

    if as_json:
        for point in found:
            print_json(point)
    else:
        print_points(found, [name for name in found[0] if name not in {"bench", "runs"}])
