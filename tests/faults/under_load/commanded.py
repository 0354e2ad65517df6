"""A mill in a process of its own that carries out the texts it is given, and can be killed at any moment."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

MILL = """
import json, sys, traceback
from millstream.errors import MillstreamError
from millstream.mill import connect

def rows(mill, text):
    return mill.execute(text)[0].table.to_pylist()

def tell(mill, **said):
    said["queries"] = [[r["query"], r["state"], r["text"]] for r in rows(mill, "SHOW QUERIES")]
    said["registrations"] = [r["handle"] for r in rows(mill, "SHOW REGISTRATIONS")]
    print(json.dumps(said), flush=True)

with connect("home", master="local[2]", resumes=True) as mill:
    tell(mill, queries_resumed=mill.resumed.queries, problems=mill.resumed.problems)
    for line in sys.stdin:
        try:
            said = {"done": [answer.message for answer in mill.execute(json.loads(line))]}
        except MillstreamError as problem:
            said = {"refused": str(problem)}
        except BaseException:
            said = {"crashed": traceback.format_exc()}
        tell(mill, **said)
"""
ENDED_SECONDS = 60.0


class CommandedMill:
    """The process."""

    def __init__(self, base: Path, errors: IO[str]) -> None:
        command = [sys.executable, "-c", MILL]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, cwd=base, stdin=pipe, stdout=pipe, stderr=errors, text=True, start_new_session=True
        )

    def ask(self, text: str) -> None:
        """Give it a text to carry out."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it was killed
            self._process.stdin.write(json.dumps(text) + "\n")
            self._process.stdin.flush()

    def answer(self) -> dict[str, Any] | None:
        """What it says next; None if it was killed before it said so."""
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        return json.loads(said) if said.endswith("\n") else None

    def kill_in(self, seconds: float, all_of_it: bool) -> threading.Timer:
        """Kill it in a while, with Spark's process or without; that one must notice by itself."""
        timer = threading.Timer(seconds, self._kill, [all_of_it])
        timer.start()
        return timer

    def _kill(self, all_of_it: bool) -> None:
        if all_of_it:
            os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.send_signal(signal.SIGKILL)

    def wait_until_gone(self) -> None:
        """Wait until all that it started has ended: until then it may still write."""
        import psutil

        self._process.wait()
        deadline = time.monotonic() + ENDED_SECONDS
        alive: list[psutil.Process] = []
        while time.monotonic() < deadline:
            alive = [one for one in psutil.process_iter() if _is_of(one, self._process.pid)]
            if not alive:
                return
            time.sleep(0.1)
        names = [one.name() for one in alive]
        for one in alive:
            one.kill()
        raise AssertionError(f"a killed mill has left {names}")


def _is_of(process: Any, session: int) -> bool:
    import psutil

    with contextlib.suppress(OSError, psutil.Error):
        return os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE
    return False
