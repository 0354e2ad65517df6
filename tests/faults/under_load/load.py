"""Rows that keep coming: files that appear in a folder, and lines pushed to a port, whether a mill is there or not."""

from __future__ import annotations

import socket
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path

KEYS = 5
ROWS = 10
"""In a file."""

SLACK_SECONDS = 10
START = datetime(2024, 1, 1)
Row = tuple[int, int, int, datetime]


def row(number: int) -> Row:
    """The row of a number: (id, k, v, ts), ten a second, out of order by up to a second and a half."""
    late = timedelta(milliseconds=number * 7919 % 1500)
    moment = START + timedelta(milliseconds=100 * number, microseconds=number % 1000) - late
    return number, number % KEYS, number * 7919 % 100, moment


def last_row(number: int) -> Row:
    """A row so late that it closes all windows before."""
    return number, number % KEYS, 0, row(number)[3] + timedelta(hours=1)


def line(one: Row) -> str:
    """A row as CSV."""
    id_, k, v, ts = one
    return f"{id_},{k},{v},{ts.isoformat(timespec='microseconds')}\n"


class Files(threading.Thread):
    """Lets a file with the next rows appear in a folder, again and again."""

    def __init__(self, folder: Path, pause: float) -> None:
        super().__init__(daemon=True)
        self._folder, self._pause = folder, pause
        self._ended = threading.Event()
        self.count = 0
        """How many rows are there, or about to be."""

    def run(self) -> None:
        """Until it is ended."""
        while not self._ended.wait(self._pause):
            self.put_next()

    def put_next(self) -> None:
        """A file with the next rows."""
        self._put([row(number) for number in range(self.count, self.count + ROWS)])

    def put_last(self) -> None:
        """The row that closes all windows."""
        self._put([last_row(self.count)])

    def _put(self, rows: list[Row]) -> None:
        number = self.count
        self.count += len(rows)
        hidden = self._folder / f".{number}.csv"
        hidden.write_text("id,k,v,ts\n" + "".join(map(line, rows)))
        hidden.rename(self._folder / f"{number:08d}.csv")

    def end(self) -> None:
        """No more files."""
        self._ended.set()
        if self.is_alive():
            self.join()


class Pushes(threading.Thread):
    """Pushes the next lines to a port, and notes what has been acknowledged; what was not is not sent again."""

    def __init__(self, port: int, pause: float) -> None:
        super().__init__(daemon=True)
        self._port, self._pause = port, pause
        self._ended = threading.Event()
        self._connection: socket.socket | None = None
        self.sent: set[int] = set()
        self.acknowledged: set[int] = set()
        self.next = 0
        """The number of the next line."""

    def run(self) -> None:
        """Until it is ended."""
        while not self._ended.wait(self._pause):
            numbers = range(self.next, self.next + ROWS)
            try:
                self._push(numbers)
            except OSError:  # the mill is dead or not there yet
                self._close()
        self._close()

    def push_last(self) -> None:
        """Push one line once the thread has ended, until it is acknowledged."""
        number = self.next
        deadline = time.monotonic() + 30
        while number not in self.acknowledged:
            try:
                self._push(range(number, number + 1))
            except OSError:
                assert time.monotonic() < deadline, "nothing listens"
                self._close()
                time.sleep(0.1)
        self._close()

    def _push(self, numbers: range) -> None:
        if self._connection is None:
            self._connection = socket.create_connection(("127.0.0.1", self._port), timeout=10)
            self._lines, self._answers = 0, self._connection.makefile("r")
        self.next = numbers.stop
        self.sent.update(numbers)
        self._connection.sendall("".join(line(row(number)) for number in numbers).encode())
        self._lines += len(numbers)
        while True:
            word, _, count = self._answers.readline().partition(" ")
            if word != "OK":
                raise ConnectionError(word)
            if int(count) >= self._lines:
                self.acknowledged.update(numbers)
                return

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def end(self) -> None:
        """No more lines."""
        self._ended.set()
        if self.is_alive():
            self.join()


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
