"""Arguments that several sub-commands of `millstream bench` have in common."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from millstream.errors import SettingError, suggest
from millstream_bench.harness.workload import Choice


def add_choices(parser: argparse.ArgumentParser, choices: tuple[Choice, ...]) -> None:
    """The numbers that can be chosen for a workload."""
    for choice in choices:
        parser.add_argument(
            f"--{choice.name}", type=at_least(choice.least), default=choice.default, help=f"{choice.what} (%(default)s)"
        )


def add_runs(parser: argparse.ArgumentParser) -> None:
    """How often each engine runs."""
    parser.add_argument("--repeat", type=at_least(1), default=5, metavar="N", help="timed runs (%(default)s)")
    parser.add_argument(
        "--warm-up", type=at_least(0), default=5, metavar="N", help="untimed runs before them (%(default)s)"
    )
    parser.add_argument(
        "--warm-up-seconds",
        type=at_least(0),
        default=0,
        metavar="S",
        help="go on with untimed runs until an engine has worked so long, the first run included (%(default)s)",
    )


def add_data(parser: argparse.ArgumentParser) -> None:
    """Where the data goes."""
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="where generated data is kept for later runs (default: the system's temporary folder)",
    )


def add_against(parser: argparse.ArgumentParser, others: Iterable[str], default: str = "") -> None:
    """Which engines run besides Millstream."""
    usual = f" ({default})" if default else ""
    parser.add_argument(
        "--against",
        metavar="ENGINES",
        default=default,
        help=f"engines to compare with, comma-separated: {', '.join(others)}{usual}",
    )


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """Figures for programs."""
    parser.add_argument("--json", action="store_true", help=what)


def check_names(command: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse a name that is not known."""
    for name in names:
        if name not in known:
            raise SettingError(f"{command} has no '{name}': {suggest(name, list(known))}")


def say(line: str) -> None:
    """Tell progress."""
    print(line, file=sys.stderr, flush=True)


def names(text: str) -> list[str]:
    """A comma list of names."""
    return [part for part in (part.strip().lower() for part in text.split(",")) if part]


def numbers(text: str) -> list[int]:
    """A comma list of whole numbers."""
    return [at_least(1)(part) for part in text.split(",")]


def at_least(least: int) -> Callable[[str], int]:
    """Reads a whole number that is not too small."""

    def read(text: str) -> int:
        try:
            number = int(text.replace("_", ""))
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least {least}")
        return number

    return read
