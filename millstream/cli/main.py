"""The command line: one sub-command per file; other packages may add more."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence

from millstream import __version__
from millstream.errors import MillstreamError


def parser() -> argparse.ArgumentParser:
    """The arguments of the command and its sub-commands."""
    # Not before `main` can tell of a Ctrl-C: some take a while to load.
    from millstream.cli import explain, plugins, run, shell

    top = argparse.ArgumentParser(
        prog="millstream",
        description="Continuous SQL over unbounded, unordered streams, on Spark.",
        epilog="millstream COMMAND --help tells more.",
    )
    top.add_argument("--version", action="version", version=f"millstream {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (run, shell, explain):
        command.add_arguments(commands)
    plugins.add_commands(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0 only if all went well."""
    try:
        parsed = parser().parse_args(arguments)
        # Commands that say nothing of signals look after them themselves, if they must.
        with getattr(parsed, "signals", contextlib.nullcontext)():
            return int(parsed.command(parsed))
    except MillstreamError as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
