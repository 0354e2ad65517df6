"""`millstream shell`: type statements, see rows."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream import __version__
from millstream.cli.common import add_spark_arguments, read_script, spark_conf
from millstream.cli.interruptible_work import InterruptibleWork
from millstream.cli.prompt import PROMPT, history_file, prompt_session
from millstream.cli.shell_commands import Quit, is_command, run_command
from millstream.cli.shell_output import ShellOutput
from millstream.cli.shell_queries import ShellQueries, number_of
from millstream.cli.signals import shell_signals
from millstream.cli.spark_start import SparkStart

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from millstream.mill import Mill
    from millstream.store.batch_log import Subscription
    from millstream.store.view_store import ViewSubscription

EPILOG = """
Without a terminal the statements come from standard input; rows of SELECT go to standard output, everything else
to standard error, and the exit code is 0 if every statement and every query went well.
"""
JOBS = "millstream-shell"
"""The name under which Spark knows what a statement makes it do, so that Ctrl-C can call it off."""


def add_arguments(commands: Any) -> None:
    """The arguments of this sub-command."""
    parser = commands.add_parser("shell", help="type statements, see rows", description=__doc__, epilog=EPILOG)
    parser.add_argument(
        "script",
        type=Path,
        nargs="?",
        metavar="SCRIPT",
        help="a file of ESL statements to run first; relative addresses then start from its folder",
    )
    parser.add_argument("--once", action="store_true", help="queries process what is there, then end")
    add_spark_arguments(parser)
    parser.add_argument(
        "--resume",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="take up what the checkpoint folder holds: definitions, and queries that ran (default: without SCRIPT)",
    )
    parser.add_argument("--json", action="store_true", help="rows as JSON, one object a line")
    parser.set_defaults(command=shell)


def shell(arguments: argparse.Namespace) -> int:
    """Read statements and carry them out until there are no more."""
    script = read_script(arguments.script) if arguments.script else ""
    conf = spark_conf(arguments.conf)
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    if interactive:
        # Before the slow imports: the user sees at once that something is there.
        print(f"millstream {__version__}: \\? for help, \\q to quit")
    from millstream.mill import connect

    output = ShellOutput(as_json=arguments.json)
    base = arguments.script.absolute().parent if arguments.script else Path()
    mill = connect(
        arguments.checkpoint,
        master=arguments.master,
        base=base,
        once=arguments.once,
        conf=conf,
        display=output.show_rows,
    )
    opened = Shell(mill, output)
    resumes = arguments.checkpoint is not None and arguments.script is None
    with shell_signals(opened.work.interrupt), opened:
        if resumes if arguments.resume is None else arguments.resume:
            opened.resume()
        opened.run_script(script)
        if interactive:
            opened.interact(base=base)
        else:
            opened.read(sys.stdin)
    # A person has seen what went wrong; a program must be told.
    return 1 if output.failed and not interactive else 0


class Shell:
    """Carries out what is typed or piped in. Nothing that goes wrong ends it."""

    def __init__(self, mill: Mill, output: ShellOutput) -> None:
        self.mill = mill
        self.output = output
        self.work = InterruptibleWork(output, self._call_off)
        self.queries = ShellQueries(mill, output, self.work)
        self.timing = False
        self._spark = SparkStart(lambda: mill.spark)

    # -- where statements come from ------------------------------------------------------------------------

    def interact(
        self,
        *,
        base: Path | str = ".",
        keys: Input | None = None,
        screen: Output | None = None,
        history: Path | None = None,
        start_spark: bool = True,
    ) -> None:
        """Read from a terminal until the user quits."""
        session = prompt_session(lambda: self.mill.catalog, base, keys, screen, history or history_file())

        def shown() -> None:
            self.output.above_prompt.attach(session)
            if start_spark:
                self._spark.begin()

        while True:
            self.queries.tell_failures()
            try:
                text = session.prompt(PROMPT, pre_run=shown)
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            finally:
                self.output.above_prompt.detach()
            if not self.enter(text):
                return

    def read(self, lines: Iterable[str]) -> None:
        """Read from a pipe until it ends, then wait for the queries, as `millstream run` does."""
        from millstream.language.parser import is_complete

        pending = ""
        for line in self._wait_for_lines(lines):
            pending += line
            if (is_command(pending) or is_complete(pending)) and pending.strip():
                text, pending = pending, ""
                if not self.enter(text):
                    return
        if pending.strip() and not self.enter(pending):
            return
        self.work.do(self.queries.wait_for_all)

    def resume(self) -> None:
        """Take up what the checkpoint folder holds."""

        def work() -> None:
            if self.mill.will_start_queries:
                self._need_spark()
            resumed = self.mill.resume()
            if resumed.queries:
                number = number_of(len(resumed.queries), "query", "queries")
                self.output.say(f"resumed {number}: {', '.join(resumed.queries)}")
            for problem in resumed.problems:
                self.output.complain(f"error: {problem}")

        self.work.do(work)

    def run_script(self, text: str) -> None:
        """Run the statements of a script."""
        if text.strip():
            self.work.do(lambda: self.run_text(text))

    def _wait_for_lines(self, lines: Iterable[str]) -> Iterator[str]:
        iterator = iter(lines)
        while True:
            self.work.at_rest = True
            try:
                line = next(iterator, None)
            finally:
                self.work.at_rest = False
            if line is None:
                return
            yield line

    # -- carrying out --------------------------------------------------------------------------------------

    def enter(self, text: str) -> bool:
        """Carry out a command or some statements; False if that was to quit."""
        text = text.strip()
        if text.rstrip(";").strip().lower() in {"exit", "quit"}:
            return False
        if not text:
            return True
        started = time.monotonic()
        try:
            self.work.do((lambda: run_command(self, text)) if is_command(text) else (lambda: self.run_text(text)))
        except Quit:
            return False
        if self.timing and not is_command(text):
            self.output.say(f"{time.monotonic() - started:.3f} s")
        return True

    def run_text(self, text: str, base: Path | None = None) -> None:
        """Carry out statements; nothing is done if one of them is wrong. Relative addresses start from `base`."""
        from millstream.language.bound import ON_SPARK, Rows

        bound = self.mill.ready(text)
        if any(isinstance(b, ON_SPARK) for b in bound):
            self._need_spark()
        self.mill.try_out(bound, text)
        for statement, answer in zip(bound, self.mill.answers(text, base), strict=True):
            if isinstance(statement, Rows) and answer.query is not None:
                self.queries.follow(answer.query)
            elif answer.subscription is not None:
                self._subscribe(answer.message, answer.subscription)
            else:
                self.output.show_answer(statement, answer)
                if self.work.stopping.is_set():
                    return

    def _subscribe(self, message: str, subscription: Subscription | ViewSubscription) -> None:
        """Show what comes until the query ends or the user stops it; the query goes on."""
        from millstream.cli.subscriptions import print_rows

        self.output.say(f"{message}; Ctrl-C stops showing it")
        print_rows(message.rpartition(" ")[2], subscription, self.output.show_rows, self.work.stopping.is_set)
        self.work.forget_interrupts()
        if subscription.position is not None:
            self.output.say(f"shown up to position {subscription.position}")

    def _need_spark(self) -> None:
        if not self._spark.ready:
            self.output.say("starting Spark ...")
        self._spark.wait(self.work.stopping)
        self.mill.spark.sparkContext.setJobGroup(JOBS, "a statement of the shell", interruptOnCancel=True)

    def _call_off(self) -> None:
        if self._spark.ready:
            with contextlib.suppress(Exception):
                self.mill.spark.sparkContext.cancelJobGroup(JOBS)

    # -- the end -------------------------------------------------------------------------------------------

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *problem: object) -> None:
        """Stop all that runs."""

        def close() -> None:
            running = self.queries.running
            self.queries.tell_failures()
            self.mill.close()
            if running:
                self.output.say(f"stopped {number_of(len(running), 'query', 'queries')}")

        self.work.do(close)
