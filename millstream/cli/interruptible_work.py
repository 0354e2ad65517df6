"""Work that Ctrl-C stops: it is done in a thread of its own.

A Ctrl-C that broke into the main thread's talk with the JVM would leave half an answer on the line, to be taken for the
next one's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from millstream.cli.shell_commands import Quit
from millstream.cli.shell_output import ShellOutput
from millstream.errors import MillstreamError


class InterruptibleWork:
    """Does one piece of work after the other, and tells what goes wrong; `call_off` has Spark stop a piece.

    `stopping` is set once the user wants the work to stop. At rest, Ctrl-C leaves instead.
    """

    def __init__(self, output: ShellOutput, call_off: Callable[[], None]) -> None:
        self._output = output
        self._call_off = call_off
        self._interrupts = 0
        self.stopping = threading.Event()
        self.at_rest = False

    def interrupt(self) -> None:
        """Take note of Ctrl-C: once to stop, twice to stop waiting for it, and at rest to leave."""
        if self.at_rest:
            raise KeyboardInterrupt
        self._interrupts += 1
        self.stopping.set()

    def forget_interrupts(self) -> None:
        """What Ctrl-C was for has stopped, and what comes next goes on."""
        self._interrupts = 0
        self.stopping.clear()

    def do(self, work: Callable[[], None]) -> None:
        """Do some work; tell what goes wrong, and let Ctrl-C stop it."""
        problems: list[BaseException] = []

        def run() -> None:
            try:
                work()
            except BaseException as problem:
                problems.append(problem)

        self.forget_interrupts()
        thread = threading.Thread(target=run, name="statement", daemon=True)
        thread.start()
        while thread.is_alive() and self._interrupts < 2:
            thread.join(0.1)
            # Again and again: what is called off may not have begun yet.
            if self.stopping.is_set() and thread.is_alive():
                self._call_off()
        if thread.is_alive():
            self._output.complain("it does not stop; it is left to itself")
            return
        for problem in problems:
            self._tell(problem)

    def _tell(self, problem: BaseException) -> None:
        from millstream.spark.process.failures import explain_failure

        match problem:
            case Quit():
                raise problem
            case _ if self.stopping.is_set():
                self._output.say("stopped")
            case MillstreamError():
                self._output.complain(str(problem))
            case _:
                words = " ".join(explain_failure(problem).split())
                self._output.complain(f"error: {type(problem).__name__}: {words}")
