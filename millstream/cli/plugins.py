"""Sub-commands of other packages, which name them as entry points of the group `millstream.commands`.

An entry point is a function that is given argparse's sub-parsers, and adds its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from millstream.errors import SettingError

GROUP = "millstream.commands"
BENCHMARKS = "millstream-bench"
ELSEWHERE = {
    "demo": "a soccer match, four queries over it, and a page of results",
    "generate": "make data to try queries on",
    "bench": "measure Millstream beside other engines",
}
"""Sub-commands of the benchmarks, a package beside this one: they can be asked for where it is not installed."""


def add_commands(commands: Any) -> None:
    """Add what is installed, and for the rest say what to install."""
    installed = {point.name: point for point in entry_points(group=GROUP)}
    for name, what in ELSEWHERE.items():
        if name not in installed:
            sentence = (
                f'millstream {name} comes with {BENCHMARKS}, which is not installed: run "pip install ./benchmarks" '
                "in a clone of Millstream"
            )
            _add_refusal(commands, name, f"{what} (needs {BENCHMARKS})", sentence)
    for name in _in_order(installed):
        _add(commands, installed[name])


def _in_order(names: Iterable[str]) -> list[str]:
    known = list(ELSEWHERE)
    return sorted(names, key=lambda name: (known.index(name) if name in known else len(known), name))


def _add(commands: Any, point: EntryPoint) -> None:
    """Add a command; one that cannot be loaded must not keep the others from working, and says why when it is asked."""
    try:
        add_arguments: Callable[[Any], None] = point.load()
    except ImportError as problem:
        package = point.dist.name if point.dist else point.module
        sentence = f"millstream {point.name} cannot be loaded from {package}: {problem}"
        _add_refusal(commands, point.name, f"cannot be loaded from {package}", sentence)
        return
    add_arguments(commands)


def _add_refusal(commands: Any, name: str, what: str, sentence: str) -> None:
    # Nothing is an option here, so that whatever comes after the name is taken, and the sentence is what is said.
    parser = commands.add_parser(name, help=what, prefix_chars="\0", add_help=False)
    parser.add_argument("rest", nargs=argparse.REMAINDER)

    def refuse(_: argparse.Namespace) -> int:
        raise SettingError(sentence)

    parser.set_defaults(command=refuse)
