"""Feeds the auction house while its queries run, and remembers what it has sent."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from generate import AuctionHouse, Made, Tick, text_of, write_files

TICK_SECONDS = 0.5
ACKNOWLEDGE_SECONDS = 30.0
RATES = {"opened": 200, "closed": 100, "bids": 2000, "seconds": TICK_SECONDS}


class Feed:
    """Writes files and pushes lines, moment by moment, until its time is over or it is told to stop."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.good: Counter[str] = Counter()
        self.broken: Counter[str] = Counter()
        self.wanted: Counter[str] = Counter()
        """How many rows each query must give: counted here, without the engine."""
        self._folder = folder
        self._house = AuctionHouse(seed)
        self._ticks = 0
        self._socket: socket.socket | None = None

    @property
    def rows(self) -> int:
        """How many rows it has sent."""
        return self.good.total() + self.broken.total()

    def begin(self) -> None:
        """Write the first files: a stream wants to find its folder, and the header of a file in it."""
        self._write(self._house.tick(closed=0))

    def run(self, port: int, seconds: float, stopping: threading.Event) -> None:
        """Feed for so long."""
        with socket.create_connection(("127.0.0.1", port)) as self._socket:
            for _ in range(max(1, round(seconds / TICK_SECONDS))):
                tick = self._house.tick(**RATES)
                self._write(tick)
                self._socket.sendall(text_of(tick.closed).encode())
                self._count("closed_auction", tick.closed)
                self.wanted["sales"] += sum(row.good for row in tick.closed)
                if stopping.wait(TICK_SECONDS):
                    break
            self._await_acknowledgement(self._socket)

    def _write(self, tick: Tick) -> None:
        write_files(self._folder, self._ticks, tick)
        self._ticks += 1
        self._count("open_auction", tick.opened)
        self._count("bid", tick.bids)
        self.wanted["alerts"] += sum(row.good and row.price > 1000 for row in tick.opened)
        self.wanted["big_bids"] += sum(row.good and row.price >= 2000 for row in tick.bids)

    def _count(self, stream: str, rows: Sequence[Made]) -> None:
        self.good[stream] += sum(row.good for row in rows)
        self.broken[stream] += sum(not row.good for row in rows)

    def _await_acknowledgement(self, sock: socket.socket) -> None:
        """Say that no more comes, and wait for the last `OK n`: from then on n rows are on disk."""
        sock.shutdown(socket.SHUT_WR)
        sock.settimeout(ACKNOWLEDGE_SECONDS)
        heard = b""
        while received := sock.recv(4096):
            heard = (heard + received)[-200:]
        sent = self.good["closed_auction"] + self.broken["closed_auction"]
        if heard.split(b"\n")[-2] != b"OK %d" % sent:
            raise RuntimeError(f"{sent} rows were pushed, and the last answer was {heard[-40:]!r}")
