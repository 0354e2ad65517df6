"""`millstream bench idle` and `millstream bench oop`: several inputs, of which one is silent or comes late."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from millstream.catalog.heartbeats import heartbeats
from millstream.cli.bench_arguments import at_least, names, say
from millstream.errors import SettingError, suggest


def add_arguments(commands: Any) -> None:
    """The arguments of both workloads."""
    _add_idle(commands)
    _add_oop(commands)


# -- idle ------------------------------------------------------------------------------------------------------


def _add_idle(commands: Any) -> None:
    what = "idle: how long answers wait for a stream that is nearly silent, by the kind of heartbeats"
    parser = commands.add_parser("idle", help=what, description=what)
    parser.add_argument("--fast", type=_rate, default=200.0, help="rows a second of the fast stream (%(default)s)")
    parser.add_argument("--slow", type=_rate, default=0.1, help="rows a second of the slow stream (%(default)s)")
    parser.add_argument("--seconds", type=at_least(1), default=60, help="how long to measure each (%(default)s)")
    parser.add_argument("--window", type=at_least(1), default=1, help="length of the window in seconds (%(default)s)")
    parser.add_argument(
        "--heartbeats",
        type=_kinds,
        default=["none", "1 second", "on demand"],
        metavar="KINDS",
        help="kinds of heartbeats, comma-separated (none,1 second,on demand)",
    )
    parser.add_argument(
        "--queries",
        type=names,
        default=["count"],
        metavar="NAMES",
        help="count: windows over the union; merge: the union in the order of time (count)",
    )
    parser.add_argument(
        "--warm-up",
        type=at_least(0),
        default=15,
        help="seconds after the first micro-batch that do not count (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line, one for each kind of heartbeats")
    parser.set_defaults(command=_idle)


def _idle(arguments: argparse.Namespace) -> int:
    from millstream.bench import idle

    for query in arguments.queries:
        if query not in idle.QUERIES:
            raise SettingError(f"bench idle has no '{query}': {suggest(query, idle.QUERIES)}")
    figures = ("answers", "mean_delay_s", "p99_delay_s", "idle_share", "peak_tuples", "peak_moments")
    for query in arguments.queries:
        shape = idle.Shape(
            arguments.fast, arguments.slow, arguments.window, arguments.seconds, arguments.warm_up, query
        )
        found = []
        for waiting in idle.measure(shape, arguments.heartbeats, say):
            found.append(waiting.to_json())
            if arguments.json:
                print(json.dumps(found[-1]), flush=True)
        if not arguments.json:  # a column for each kind: there are more figures than a line has room for
            rows = [[name, *(kind[name] for kind in found)] for name in (*figures, "largest_burst", "batches", "marks")]
            _show([f"{query}, heartbeats", *(kind["heartbeats"] for kind in found)], rows)
    return 0


def _kinds(text: str) -> list[str]:
    kinds = names(text)
    try:
        return [str(heartbeats(kind)) for kind in kinds]
    except ValueError as problem:
        raise argparse.ArgumentTypeError(f"a kind of heartbeats is {problem}") from None


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0")
    return rate


# -- oop -------------------------------------------------------------------------------------------------------


def _add_oop(commands: Any) -> None:
    what = "oop: what operators keep when inputs lag behind each other, beside those that put tuples in order first"
    parser = commands.add_parser("oop", help=what, description=what)
    parser.add_argument("--rows", type=at_least(1), default=240_000, help="rows of all inputs together (%(default)s)")
    parser.add_argument("--seconds", type=at_least(1), default=120, help="event time that they span (%(default)s)")
    parser.add_argument(
        "--skew",
        type=_lags,
        default=[0, 1, 5, 10, 30],
        metavar="S,S",
        help="how far an input lags, in seconds, one measurement for each (0,1,5,10,30)",
    )
    parser.add_argument("--range", type=at_least(1), default=10, help="length of the window in seconds (%(default)s)")
    parser.add_argument("--slide", type=at_least(1), default=10, help="slide of the counting window (%(default)s)")
    parser.add_argument(
        "--keys",
        type=at_least(1),
        default=100,
        help="groups that are counted; joins have 100 times as many (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line, one for each measurement")
    parser.set_defaults(command=_oop)


def _oop(arguments: argparse.Namespace) -> int:
    from millstream.bench import oop

    columns = ("rows", "seconds", "range", "slide", "keys")
    shape = oop.Shape(*(getattr(arguments, name) for name in columns))
    found = []
    for kept in oop.measure(shape, arguments.skew, say):
        found.append(kept.to_json())
        if arguments.json:
            print(json.dumps(found[-1]), flush=True)
    if not arguments.json:
        # "stored" is in JSON as tuples and partial states, too; a terminal has no room for all of it.
        sides = ("out_of_order", "in_order")
        flat = [{**f, **{f"{s}_{name}": value for s in sides for name, value in f[s].items()}} for f in found]
        shown = ("query", "skew", "answers", *(f"{s}_{name}" for name in ("stored", "bytes") for s in sides))
        _show(shown, [[row[name] for name in shown] for row in flat])
    return 0


def _lags(text: str) -> list[int]:
    return [at_least(0)(part) for part in text.split(",")]


# -- tables ----------------------------------------------------------------------------------------------------


def _show(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    from rich.console import Console
    from rich.table import Table

    view = Table(*map(_written, heads))
    for row in rows:
        view.add_row(*map(_written, row))
    Console(highlight=False).print(view)


def _written(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int | float) else str(value).replace("_", " ")
