"""`millstream demo`: a soccer match is played, four queries read it, and a page shows what they found."""

from __future__ import annotations

import argparse
import json
import sys
import webbrowser
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from millstream.errors import SettingError

NEXT = """
what to try next
  millstream shell                                  type statements of your own
  millstream bench debs                             the same queries, measured
  python -m millstream_bench.soccer.queries DATA OUT      the script that has just run
"""


def add_arguments(commands: Any) -> None:
    """The arguments of this sub-command."""
    what = "play a soccer match, run the four queries of the DEBS 2013 challenge over it, and make a page of it"
    parser = commands.add_parser("demo", help=what, description=what)
    parser.add_argument("--minutes", type=float, default=2.0, help="how long the match is (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, another match (%(default)s)")
    parser.add_argument(
        "--folder", type=Path, default=Path("out/match"), metavar="DIR", help="data, results and page (%(default)s)"
    )
    parser.add_argument("--no-open", action="store_true", help="do not open the page in a browser")
    parser.add_argument("--json", action="store_true", help="the outcome as one JSON object")
    parser.set_defaults(command=demo)


def demo(arguments: argparse.Namespace) -> int:
    """Play, read, show."""
    if arguments.minutes <= 0:
        raise SettingError(f"a match of {arguments.minutes:g} minutes cannot be played\nhelp: more than 0")
    from millstream_bench.soccer.demo import play

    console = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description:<20}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    said: set[str] = set()
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        task = bars.add_task("", total=1.0)

        def tell(what: str, share: float) -> None:
            bars.update(task, description=what, completed=share)
            if not console.is_terminal and what not in said:
                said.add(what)
                console.print(what)

        played = play(arguments.folder.absolute(), minutes=arguments.minutes, seed=arguments.seed, tell=tell)
    if arguments.json:
        found = {
            "page": str(played.page),
            "events": played.events,
            "seconds": round(played.seconds, 2),
            "events_per_s": round(played.events / played.seconds),
            "times_real_time": round(played.times_real_time, 1),
        }
        print(json.dumps(found))
        return 0
    print(
        f"{played.events:,} events in {played.seconds:.1f} s, {played.events / played.seconds:,.0f} a second, "
        f"{played.times_real_time:.0f} times as fast as the match\nthe page is {played.page}"
    )
    if not arguments.no_open and sys.stdout.isatty():
        webbrowser.open(played.page.as_uri())
    print(NEXT.replace("DATA", str(arguments.folder / "data")).replace("OUT", "out/again"), end="")
    return 0
