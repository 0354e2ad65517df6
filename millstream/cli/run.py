"""`millstream run SCRIPT`: carry out a script and keep its queries going."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream.cli.common import add_spark_arguments, read_script, spark_conf
from millstream.cli.signals import Stop, stop_signals
from millstream.errors import MillstreamError

if TYPE_CHECKING:
    from millstream.cli.progress import Progress
    from millstream.cli.rows import RowPrinter
    from millstream.cli.watch import Watch
    from millstream.mill import Mill, RunningQuery
    from millstream.store.batch_log import Subscription
    from millstream.store.view_store import ViewSubscription

EPILOG = """
With --once the run ends by itself; otherwise Ctrl-C stops it, and a second one ends it at once. Rows of SELECT go to
standard output, everything else to standard error. A query that fails is told at once; the others go on, unless
--on-failure says otherwise: restart starts it again from its checkpoint, after 1 second, then 2, 4 and so on, up to a
minute (with --once five times at most); stop ends the run. The exit code is 0 if every statement and every query went
well.
"""
JOBS = "millstream-run"
"""The name under which Spark knows what a statement makes it do, so that it can be called off."""

LOOK_SECONDS = 0.1
STOP_SECONDS = 60.0
"""How long statements and queries may take to stop; then Spark is ended under them."""


def add_arguments(commands: Any) -> None:
    """The arguments of this sub-command."""
    parser = commands.add_parser("run", help="run a script of ESL statements", description=__doc__, epilog=EPILOG)
    parser.add_argument("script", type=Path, metavar="SCRIPT", help="a file of ESL statements")
    parser.add_argument("--once", action="store_true", help="process what is there, then end")
    add_spark_arguments(parser)
    parser.add_argument(
        "--on-failure",
        choices=("restart", "continue", "stop"),
        default="continue",
        help="what happens when a query fails: it is started again, the others go on (default), or all stop",
    )
    parser.add_argument("--json", action="store_true", help="rows and the closing summary as JSON, one object a line")
    parser.add_argument("--quiet", action="store_true", help="no progress and no summary")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the script."""
    text = read_script(arguments.script)
    conf = spark_conf(arguments.conf)
    with stop_signals(_leave) as stop:
        from millstream.cli.progress import Progress
        from millstream.cli.rows import RowPrinter
        from millstream.cli.watch import Watch
        from millstream.mill import connect

        progress = Progress(quiet=arguments.quiet)
        printer = RowPrinter(as_json=arguments.json, console=progress.console if sys.stdout.isatty() else None)
        with connect(
            arguments.checkpoint,
            master=arguments.master,
            base=arguments.script.absolute().parent,
            once=arguments.once,
            conf=conf,
            display=printer.show,
            shares=arguments.on_failure != "restart",
        ) as mill:
            watch = Watch(mill, arguments.on_failure, progress.complain)
            return _Run(arguments, mill, stop, progress, printer, watch).go(text)


class _Run:
    """One run.

    The statements are carried out in a thread of their own: this one looks after the queries, and after signals, which
    must not break into the talk with Spark.
    """

    def __init__(
        self,
        arguments: argparse.Namespace,
        mill: Mill,
        stop: Stop,
        progress: Progress,
        printer: RowPrinter,
        watch: Watch,
    ) -> None:
        self._arguments = arguments
        self._mill = mill
        self._stop = stop
        self._progress = progress
        self._printer = printer
        self._watch = watch
        self._spark_is_there = False
        self._done = False
        self._selects: list[RunningQuery] = []  # held, so that the summary can tell of them
        self._problem: BaseException | None = None
        self._printing: list[threading.Thread] = []

    def go(self, text: str) -> int:
        """Carry out the text; the exit code."""
        started = time.monotonic()
        worker = threading.Thread(target=self._work, args=[text], name="statements", daemon=True)
        with self._progress.of(self._mill):
            worker.start()
            while (self._watch.look() or worker.is_alive()) and not self._ends():
                self._progress.update()
                if worker.is_alive():
                    worker.join(LOOK_SECONDS)
                else:
                    self._stop.wait(LOOK_SECONDS)
            if self._ends():
                self._halt(worker)
            else:
                self._last_words()
        if self._problem is not None and not self._stop.is_set() and not self._watch.gave_up:
            raise self._problem
        if not self._arguments.quiet and self._spark_is_there:
            self._summarize(time.monotonic() - started)
        if self._watch.failed or self._watch.gave_up:
            return 1
        return 0 if self._done else self._stop.code

    def _ends(self) -> bool:
        """Whether all that runs is to be stopped."""
        return self._stop.is_set() or self._watch.gave_up or self._problem is not None

    def _work(self, text: str) -> None:
        from millstream.language.bound import ON_SPARK
        from millstream.spark.process.failures import SPARK_ERRORS, explain_failure
        from millstream.spark.process.jvm import hang_up_at_end

        try:
            with hang_up_at_end():
                bound = self._mill.ready(text)
                if any(isinstance(b, ON_SPARK) for b in bound):
                    context = self._mill.spark.sparkContext
                    context.setJobGroup(JOBS, "a statement of a script", interruptOnCancel=True)
                self._mill.try_out(bound, text)
                self._spark_is_there = True
                self._done = self._carry_out(text)
        except SPARK_ERRORS as problem:
            self._problem = MillstreamError(f"error: {explain_failure(problem)}")
        except BaseException as problem:
            self._problem = problem
        finally:
            self._mill.begin_templates()

    def _carry_out(self, text: str) -> bool:
        """Carry out the statements one by one; whether none is left."""
        answers = self._mill.answers(text)
        while not self._stop.is_set() and not self._watch.gave_up:
            answer = next(answers, None)
            if answer is None:
                for name in self._mill.stop_unnamed():
                    self._progress.say(
                        f"query {name} is not in this script: it is stopped; START QUERY or DROP QUERY decides"
                    )
                return True
            if answer.query is not None:
                self._selects.append(answer.query)
            if answer.subscription is not None:
                self._progress.say(answer.message)
                self._print(answer.message.rpartition(" ")[2], answer.subscription)
            elif answer.table is not None:
                self._printer.table(answer.message, answer.table)
            elif answer.text is not None:
                self._printer.write(answer.text)
            else:
                self._progress.say(answer.message)
        return False

    def _print(self, name: str, subscription: Subscription | ViewSubscription) -> None:
        """Print what comes, beside what else the script does, until its query ends."""
        from millstream.cli.subscriptions import print_rows

        def go() -> None:
            try:
                print_rows(name, subscription, self._printer.show, self._ends)
            except MillstreamError as problem:
                self._problem = problem

        printing = threading.Thread(target=go, name="subscription", daemon=True)
        printing.start()
        self._printing.append(printing)

    def _halt(self, worker: threading.Thread) -> None:
        """Stop what runs, whatever that is: Spark's start, a statement, the queries."""
        from millstream.spark.process.jvm import end_spark

        if self._problem is None:
            self._progress.say("stopping")
        deadline = time.monotonic() + STOP_SECONDS
        while worker.is_alive() and time.monotonic() < deadline:
            if self._spark_is_there:
                self._call_off()
            else:
                end_spark()
            worker.join(LOOK_SECONDS)
        if worker.is_alive():
            end_spark()
        self._mill.halt()  # what does not stop now ends with Spark

    def _call_off(self) -> None:
        from millstream.spark.process.failures import SPARK_ERRORS

        with contextlib.suppress(*SPARK_ERRORS):
            self._mill.spark.sparkContext.cancelJobGroup(JOBS)

    def _last_words(self) -> None:
        """Wait until all that ended queries have done is counted."""
        for query in self._mill.queries:
            with contextlib.suppress(MillstreamError):  # which has been told
                query.wait(timeout=30)
        for printing in self._printing:
            printing.join(STOP_SECONDS)

    def _summarize(self, seconds: float) -> None:
        from millstream.cli.summary import summarize

        summarize(self._mill, seconds, as_json=self._arguments.json)


def _leave(code: int) -> None:
    """End at once, and leave nothing behind all the same."""
    sys.stderr.write("stopped at once\n")
    sys.stderr.flush()
    if (jvm := _find_module("millstream.spark.process.jvm")) is not None:
        jvm.end_spark(0)
    if (leftovers := _find_module("millstream.spark.process.leftovers")) is not None:
        leftovers.remove_own()
    os._exit(code)


def _find_module(name: str) -> Any:
    """A module that is there as a whole; None if it is still to be imported: then nothing of it was begun.

    A signal may come in the middle of an import, where nothing can be imported.
    """
    module = sys.modules.get(name)
    return None if module is None or getattr(module.__spec__, "_initializing", False) else module
