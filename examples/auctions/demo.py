"""The auction house, live: feeds three continuous queries, shows their results, and checks that no row was lost."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from feed import Feed
from screen import Screen, summary

import millstream

SCRIPT = Path(__file__).with_name("auctions.esl")
PORT = 4446
REFUSED = "CREATE QUERY refused AS SELECT reason, raw FROM open_auction.REJECTED;"
NEXT = """
what to try next
  millstream shell                                        type statements of your own
  millstream run examples/auctions/auctions.esl --once    the same queries over the files that are there now
  millstream bench passthrough --against spark            what Millstream costs beside hand-written Spark
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; 0 if every good row arrived and every broken one was rejected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to feed (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other rows (%(default)s)")
    parser.add_argument(
        "--base", type=Path, default=SCRIPT.parent, metavar="DIR", help="data and results go to DIR/out"
    )
    parsed = parser.parse_args(arguments)
    try:
        return _run(parsed.base, parsed.seconds, parsed.seed)
    except millstream.MillstreamError as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _run(base: Path, seconds: float, seed: int) -> int:
    out = base / "out"
    shutil.rmtree(out, ignore_errors=True)
    screen = Screen()
    feed = Feed(out / "data", seed)
    feed.begin()
    screen.say("starting Spark and three continuous queries (a few seconds)")
    feeder: Feeder | None = None
    with millstream.connect(base=base, display=screen.rows) as mill, _stop_signals(mill) as stopping:
        for answer in mill.answers(_script()):
            screen.say(answer.message)
            if answer.query and not feeder:
                # The later queries start while rows already flow: they read from the beginning all the same.
                feeder = Feeder(feed, mill.listeners["closed_auction"].port, seconds, stopping)
            if stopping.is_set():
                return _stopped(screen)
        assert feeder, "the script starts no query"
        received = Received(mill.query("sales"), screen)
        with screen.watch(mill, out / "alerts"):
            while feeder.is_alive():
                screen.update(feed.rows)
                time.sleep(0.2)
            feeder.check()
            if not stopping.is_set():
                screen.say("feeding is over; a fourth query looks at what did not parse")
                mill.execute(REFUSED)
                _settle(mill.queries, screen, feed, stopping)
        if stopping.is_set():
            return _stopped(screen)
        for query in mill.queries:
            query.stop()
        received.join()
        screen.console.print(summary(mill.queries))
        screen.console.print(f"rejected, for example ({feed.broken.total():,} rows were broken on purpose):")
        kinds = {row["reason"]: row["raw"] for row in mill.query("refused").to_arrow().to_pylist()}
        for reason, raw in list(kinds.items())[:4]:
            screen.console.print(f"  {reason:44} {raw}", markup=False, soft_wrap=True)
        losses = _losses(mill, feed, received.rows, out / "alerts")
        for loss in losses:
            screen.console.print(f"LOST: {loss}", markup=False)
        if not losses:
            screen.say(f"checked: all {feed.good.total():,} good rows arrived, all broken ones were rejected")
        screen.console.print(f"alerts are in {out / 'alerts'}, what was fed in {out / 'data'}", soft_wrap=True)
        screen.console.print(NEXT.rstrip(), markup=False, soft_wrap=True)
    return 1 if losses else 0


def _stopped(screen: Screen) -> int:
    screen.say("stopped")
    return 128 + signal.SIGINT


class Received(threading.Thread):
    """Subscribes to a query, as any program can, and counts the rows that come."""

    def __init__(self, query: millstream.RunningQuery, screen: Screen) -> None:
        super().__init__(daemon=True)
        self.rows = 0
        self._query = query
        self._screen = screen
        self.start()

    def run(self) -> None:
        """Take batch after batch until the query ends."""
        for table in self._query.subscribe():
            self.rows += table.num_rows
            self._screen.rows(self._query.name, table)


class Feeder(threading.Thread):
    """Runs the feed beside the queries."""

    def __init__(self, feed: Feed, port: int, seconds: float, stopping: threading.Event) -> None:
        super().__init__(daemon=True)
        self._work = (feed, port, seconds, stopping)
        self._problem: Exception | None = None
        self.start()

    def run(self) -> None:
        """Feed to the end, or remember why that was not possible."""
        feed, port, seconds, stopping = self._work
        try:
            feed.run(port, seconds, stopping)
        except (OSError, RuntimeError) as problem:
            self._problem = problem

    def check(self) -> None:
        """Raise what went wrong."""
        if self._problem:
            raise millstream.RunError(f"feeding failed: {self._problem}")


def _script() -> str:
    """The script; if its port is taken on this machine, with any that is free."""
    text = SCRIPT.read_text(encoding="utf-8")
    with contextlib.closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT))
        except OSError:
            return text.replace(f"tcp:{PORT}", "tcp:0")
    return text


def _settle(queries: Sequence[millstream.RunningQuery], screen: Screen, feed: Feed, stopping: threading.Event) -> None:
    """Wait until each query has processed all that was sent, and go on showing them meanwhile."""
    waiting = [threading.Thread(target=q.process_available, daemon=True) for q in queries]
    for thread in waiting:
        thread.start()
    while any(t.is_alive() for t in waiting) and not stopping.is_set():
        screen.update(feed.rows)
        time.sleep(0.2)


def _losses(mill: millstream.Mill, feed: Feed, received: int, alerts: Path) -> list[str]:
    """What did not add up: counts of the queries against what the feed has sent."""
    reads = {"alerts": "open_auction", "sales": "closed_auction", "big_bids": "bid"}
    counted = []
    for name, stream in reads.items():
        counts = mill.query(name).counts
        counted += [
            (f"rows of {stream} that {name} read", counts.rows_in, feed.good[stream] + feed.broken[stream]),
            (f"rows of {stream} that were rejected", counts.rejected.get(stream, 0), feed.broken[stream]),
            (f"results of {name}", counts.rows_out, feed.wanted[name]),
        ]
    lines = sum(len(file.read_bytes().splitlines()) for file in alerts.glob("*.json"))
    counted += [
        ("lines in the alert files", lines, feed.wanted["alerts"]),
        ("sales that the subscriber got", received, feed.wanted["sales"]),
        ("rows in open_auction.REJECTED", mill.query("refused").counts.rows_out, feed.broken["open_auction"]),
    ]
    return [f"{what}: {got:,} instead of {want:,}" for what, got, want in counted if got != want]


@contextlib.contextmanager
def _stop_signals(mill: millstream.Mill) -> Iterator[threading.Event]:
    """The first Ctrl-C asks for a clean stop, the second ends at once."""
    mill.spark  # noqa: B018  (Spark sets a handler of its own when it starts: ours must come after)
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


if __name__ == "__main__":
    sys.exit(main())
