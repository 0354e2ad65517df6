"""`millstream run SCRIPT`: carry out a script and keep its queries going."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millstream.cli.common import add_spark_arguments, read_script, spark_conf
from millstream.errors import MillstreamError

EPILOG = """
With --once the run ends by itself; otherwise Ctrl-C stops it. Rows of SELECT go to standard output, everything else
to standard error. The exit code is 0 if every statement and every query went well.
"""


def add_arguments(commands: Any) -> None:
    """The arguments of this sub-command."""
    parser = commands.add_parser("run", help="run a script of ESL statements", description=__doc__, epilog=EPILOG)
    parser.add_argument("script", type=Path, metavar="SCRIPT", help="a file of ESL statements")
    parser.add_argument("--once", action="store_true", help="process what is there, then end")
    add_spark_arguments(parser)
    parser.add_argument("--json", action="store_true", help="rows and the closing summary as JSON, one object a line")
    parser.add_argument("--quiet", action="store_true", help="no progress and no summary")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the script."""
    from millstream.cli.progress import Progress
    from millstream.cli.rows import RowPrinter
    from millstream.cli.summary import summarize
    from millstream.language.bind import Rows, Start, Store
    from millstream.mill import connect

    text = read_script(arguments.script)
    conf = spark_conf(arguments.conf)
    progress = Progress(quiet=arguments.quiet)
    printer = RowPrinter(as_json=arguments.json, console=progress.console if sys.stdout.isatty() else None)
    with connect(
        arguments.checkpoint,
        master=arguments.master,
        base=arguments.script.absolute().parent,
        once=arguments.once,
        conf=conf,
        display=printer.show,
    ) as mill:
        bound = mill.ready(text)
        started = time.monotonic()
        with progress.of(mill), contextlib.ExitStack() as stack:
            if any(isinstance(b, Rows | Start | Store) for b in bound):
                _ = mill.spark  # first, because PySpark sets a handler of its own for Ctrl-C
            stopping = stack.enter_context(_stop_signals())
            for answer in mill.answers(text):
                if answer.table is not None:
                    printer.table(answer.message, answer.table)
                elif answer.text is not None:
                    printer.write(answer.text)
                else:
                    progress.say(answer.message)
                if stopping.is_set():
                    break
            while any(q.is_active for q in mill.queries) and not stopping.is_set():
                progress.update()
                stopping.wait(0.2)
            if stopping.is_set():
                progress.say("stopping")
                for query in mill.queries:
                    query.stop()
            failures = _failures(mill)
        if not arguments.quiet:
            summarize(mill, time.monotonic() - started, as_json=arguments.json)
        if failures:
            log = mill.home.spark_log
            raise MillstreamError("\n".join((*failures, f"help: Spark's own log is {log}")))
    return 0


def _failures(mill: Any) -> list[str]:
    failures = []
    for query in mill.queries:
        with contextlib.suppress(MillstreamError):
            query.wait(timeout=30)
        if query.failure:
            failures.append(f"error: query {query.name} failed: {query.failure}")
    return failures


@contextlib.contextmanager
def _stop_signals() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM ask for a clean stop; a second one ends at once."""
    stopping = threading.Event()

    def handle(number: int, frame: object) -> None:
        if stopping.is_set():
            sys.exit(128 + number)
        stopping.set()

    old = {s: signal.signal(s, handle) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopping
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
