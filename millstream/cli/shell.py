"""`millstream shell`: type statements, see rows."""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from millstream import __version__
from millstream.cli.above_prompt import AbovePrompt
from millstream.cli.common import add_spark_arguments, read_script, spark_conf
from millstream.cli.prompt import PROMPT, history_file, prompt_session
from millstream.cli.shell_commands import Quit, is_command, run_command
from millstream.cli.signals import shell_signals
from millstream.cli.spark_start import SparkStart
from millstream.errors import MillstreamError

if TYPE_CHECKING:
    import pyarrow as pa
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from millstream.language.bound import Bound
    from millstream.mill import Answer, Mill, RunningQuery

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

    shell_ = Shell(as_json=arguments.json)
    base = arguments.script.absolute().parent if arguments.script else Path()
    shell_.mill = connect(
        arguments.checkpoint,
        master=arguments.master,
        base=base,
        once=arguments.once,
        conf=conf,
        display=shell_.show_rows,
    )
    with shell_signals(shell_.interrupted), shell_:
        shell_.run_script(script)
        if interactive:
            shell_.interact(base=base)
        else:
            shell_.read(sys.stdin)
    # A person has seen what went wrong; a program must be told.
    return 1 if shell_.failed and not interactive else 0


class Shell:
    """Carries out what is typed or piped in. Nothing that goes wrong ends it.

    All work on Spark is done in threads of its own: a Ctrl-C that broke into the main thread's talk with the JVM
    would leave half an answer on the line, to be taken for the next one's.
    """

    mill: Mill

    def __init__(self, *, as_json: bool = False, out: IO[str] | None = None, err: IO[str] | None = None) -> None:
        from rich.console import Console

        from millstream.cli.rows import RowPrinter

        self.as_json = as_json
        self.timing = False
        self.failed = False
        self._out = AbovePrompt(out or sys.stdout)
        file = cast("IO[str]", self._out)
        self._console = Console(file=file, highlight=False)
        # Messages and rows share a terminal, but must not be mixed where rows go to a program.
        apart = not self._console.is_terminal
        self._messages = Console(file=err or (sys.stderr if apart else file), highlight=False)
        self._tables = RowPrinter(out=file, console=self._console)
        self._objects = RowPrinter(as_json=True, out=file, console=self._console)
        self._spark = SparkStart(lambda: self.mill.spark)
        self._interrupts = 0
        self._stopping = threading.Event()
        self._told: set[RunningQuery] = set()
        self._idle = False

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
        session = prompt_session(self.mill.catalog, base, keys, screen, history or history_file())

        def shown() -> None:
            self._out.attach(session)
            if start_spark:
                self._spark.begin()

        while True:
            self._tell_failures()
            try:
                text = session.prompt(PROMPT, pre_run=shown)
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            finally:
                self._out.detach()
            if not self.enter(text):
                return

    def read(self, lines: Iterable[str]) -> None:
        """Read from a pipe until it ends, then wait for the queries, as `millstream run` does."""
        from millstream.language.parser import is_complete

        pending = ""
        for line in self._awaited(lines):
            pending += line
            if (is_command(pending) or is_complete(pending)) and pending.strip():
                text, pending = pending, ""
                if not self.enter(text):
                    return
        if pending.strip() and not self.enter(pending):
            return
        self.guarded(self._wait_for_all)

    def run_script(self, text: str) -> None:
        """Run the statements of a script."""
        if text.strip():
            self.guarded(lambda: self.run_text(text))

    def _awaited(self, lines: Iterable[str]) -> Iterator[str]:
        iterator = iter(lines)
        while True:
            self._idle = True
            try:
                line = next(iterator, None)
            finally:
                self._idle = False
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
        work = (lambda: run_command(self, text)) if is_command(text) else (lambda: self.run_text(text))
        try:
            self.guarded(work)
        except Quit:
            return False
        if self.timing and not is_command(text):
            self.say(f"{time.monotonic() - started:.3f} s")
        return True

    def guarded(self, work: Callable[[], None]) -> None:
        """Do some work in a thread of its own; tell what goes wrong, and let Ctrl-C stop it."""
        from millstream.spark.process.failures import explain_failure

        problems: list[BaseException] = []

        def run() -> None:
            try:
                work()
            except BaseException as problem:
                problems.append(problem)

        self._interrupts = 0
        self._stopping.clear()
        thread = threading.Thread(target=run, name="statement", daemon=True)
        thread.start()
        while thread.is_alive() and self._interrupts < 2:
            thread.join(0.1)
            # Again and again: what is called off may not have begun yet.
            if self._stopping.is_set() and thread.is_alive():
                self._call_off()
        if thread.is_alive():
            self.complain("it does not stop; it is left to itself")
            return
        for problem in problems:
            match problem:
                case Quit():
                    raise problem
                case _ if self._stopping.is_set():
                    self.say("stopped")
                case MillstreamError():
                    self.complain(str(problem))
                case _:
                    words = " ".join(explain_failure(problem).split())
                    self.complain(f"error: {type(problem).__name__}: {words}")

    def run_text(self, text: str, base: Path | None = None) -> None:
        """Carry out statements; nothing is done if one of them is wrong. Relative addresses start from `base`."""
        from millstream.language.bound import Rows, Start, Store

        bound = self.mill.ready(text)
        if any(isinstance(b, Rows | Start | Store) for b in bound):
            self._need_spark()
        self.mill.try_out(bound, text)
        for statement, answer in zip(bound, self.mill.answers(text, base), strict=True):
            if isinstance(statement, Rows) and answer.query is not None:
                self._follow(answer.query)
            else:
                self._show(statement, answer)
                if self._stopping.is_set():
                    return

    def interrupted(self) -> None:
        """Take note of Ctrl-C: once to stop, twice to stop waiting for it, and at rest to leave."""
        if self._idle:
            raise KeyboardInterrupt
        self._interrupts += 1
        self._stopping.set()

    def _call_off(self) -> None:
        if self._spark.ready:
            with contextlib.suppress(Exception):
                self.mill.spark.sparkContext.cancelJobGroup(JOBS)

    def _need_spark(self) -> None:
        if not self._spark.ready:
            self.say("starting Spark ...")
        self._spark.wait(self._stopping)
        self.mill.spark.sparkContext.setJobGroup(JOBS, "a statement of the shell", interruptOnCancel=True)

    def _follow(self, query: RunningQuery) -> None:
        """Stay with a query whose rows are shown as they come, until it ends or the user stops it."""
        if not self.mill.once:
            self.say(f"{query.name} runs; Ctrl-C stops it")
        while query.is_active and not self._stopping.wait(0.1):
            pass
        if stopped := query.is_active:
            self.say(f"stopping {query.name} ...")
            query.stop()
        else:
            with contextlib.suppress(MillstreamError):
                query.wait(timeout=10)
        # The Ctrl-C was for this query; what comes after it in a script goes on.
        self._stopping.clear()
        self._interrupts = 0
        failure = None if stopped else query.failure
        if failure:
            self._failure(query, failure)
        else:
            self.say(self.closing_line(query, "stopped" if stopped else "ended"))
        # It cannot be named or read any more, and would only keep its stream from being dropped.
        self.mill.execute(f"DROP QUERY {query.name};")

    def _wait_for_all(self) -> None:
        running = [q for q in self.mill.queries if q.is_active]
        if running and not self.mill.once:
            self.say(f"{_number(len(running), 'query', 'queries')} running; Ctrl-C stops")
        for query in running:
            while query.is_active and not self._stopping.wait(0.1):
                pass
            if not query.is_active:
                with contextlib.suppress(MillstreamError):
                    query.wait(timeout=10)
                if not query.failure:
                    self.say(self.closing_line(query, "ended"))
        self._tell_failures()

    # -- telling -------------------------------------------------------------------------------------------

    def show_rows(self, name: str, table: pa.Table) -> None:
        """Show rows of a running query; called from Spark's threads."""
        (self._objects if self.as_json else self._tables).show(name, table)

    def show_table(self, headline: str, table: pa.Table, count: str = "") -> None:
        """Show a whole table. It is complete in itself, so that its header is always written."""
        from millstream.cli.rows import RowPrinter

        file = cast("IO[str]", self._out)
        printer = RowPrinter(as_json=self.as_json, out=file, console=self._console)
        if self.as_json or not self._console.is_terminal:
            printer.table(headline or count, table)
            return
        if headline:
            self.write(headline)
        if table.num_rows:
            printer.show("", table)
        if count:
            self.say(count)

    def write(self, text: str) -> None:
        """Write an answer that is plain text."""
        self._tables.write(text)

    def say(self, message: str) -> None:
        """Tell what was done."""
        self._messages.print(message, style="dim", markup=False, soft_wrap=True)

    def complain(self, message: str) -> None:
        """Tell what went wrong."""
        self.failed = True
        self._messages.print(message, style="red", markup=False, soft_wrap=True)

    def closing_line(self, query: RunningQuery, word: str = "stopped") -> str:
        """What a query did, in a line."""
        counts = query.counts
        rejected = {stream: count for stream, count in counts.rejected.items() if count}
        line = (
            f"{query.name} {word}: {_number(counts.rows_in, 'row')} in, "
            f"{_number(counts.rows_out, 'row')} out, {sum(rejected.values()):,} rejected"
        )
        line += f" (see {', '.join(f'{s}.REJECTED' for s in rejected)})" if rejected else ""
        late = {stream: count for stream, count in counts.late.items() if count}
        seen = ", ".join(f"{stream}.LATE" for stream in late)
        return line + (f", {sum(late.values()):,} late (see {seen})" if late else "")

    def _show(self, statement: Bound, answer: Answer) -> None:
        from millstream.language.bound import Description

        if answer.table is not None:
            if isinstance(statement, Description):
                self.show_table(answer.message, answer.table)
            else:
                self.show_table("", answer.table, count=answer.message)
        elif answer.text is not None:
            self.write(answer.text)
        else:
            self.say(answer.message)

    def _tell_failures(self) -> None:
        for query in self.mill.queries:
            if query not in self._told and not query.is_active and (failure := query.failure):
                self._failure(query, failure)

    def _failure(self, query: RunningQuery, failure: str) -> None:
        self._told.add(query)
        self.complain(
            f"error: query {query.name} failed: {failure}\nhelp: Spark's own log is {self.mill.home.spark_log}"
        )

    # -- the terminal --------------------------------------------------------------------------------------

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *problem: object) -> None:
        """Stop all that runs."""

        def close() -> None:
            running = [q for q in self.mill.queries if q.is_active]
            self._tell_failures()
            self.mill.close()
            if running:
                self.say(f"stopped {_number(len(running), 'query', 'queries')}")

        self.guarded(close)


def _number(number: int, one: str, many: str = "") -> str:
    """A number of things.

    >>> _number(1, "row"), _number(2000, "query", "queries")
    ('1 row', '2,000 queries')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
