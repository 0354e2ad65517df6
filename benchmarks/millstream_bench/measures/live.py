"""`live`: queries that are created, altered and dropped while rows come in, with and without a history before them.

A producer puts a small file into the folder of a kept stream ten times a second, each with the rows of ten further
seconds. A query beside runs all the while. What is measured is the time from a statement to the first answer to a
window that closed after it; every answer is compared with DuckDB's over the same files.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from millstream.errors import RunError
from millstream.mill import Mill, connect

STREAM = "CREATE STREAM s (ts TIMESTAMP, k INT, v INT) ORDER BY ts SLACK 1 SECOND KEEP ALL SOURCE 'parquet:in';"
STEP = 10
"""Seconds of event time in a file, and the slide of all windows."""

EVERY_SECONDS = 0.1
FILE_ROWS = 1 << 20
FIRST, SHORTER, LONGER = 60, 30, 120
"""The seconds that windows have at first, and after each change."""

PATIENCE_SECONDS = 120.0
_BEGIN = 1_700_000_000_000_000


@dataclass(frozen=True)
class Load:
    """So many rows come in every second of event time, of so many keys."""

    rate: int
    keys: int


@dataclass(frozen=True)
class Taken:
    """The seconds of each statement until it is done, and until the first answer to a window that closed after it.

    `pause_s` is the longest time for which the query beside gave no answer meanwhile, `steady_s` the longest before.
    `history_rows_s` is how fast a query that begins with the history came to its end, `bounded_rows_s` how fast the
    same SELECT ran over it as over a table.
    """

    history: int
    create_s: float
    create_answer_s: float
    narrow_s: float
    narrow_answer_s: float
    widen_s: float
    widen_answer_s: float
    drop_s: float
    pause_s: float
    steady_s: float
    history_rows_s: int | None
    bounded_rows_s: int | None
    answers: int

    def to_json(self) -> dict[str, Any]:
        """The object that --json writes."""
        rounded = {name: round(v, 3) if isinstance(v, float) else v for name, v in asdict(self).items()}
        return {"bench": "live", **rounded}


def select(seconds: int, since: str = "") -> str:
    """The SELECT with windows of so many seconds."""
    window = f"RANGE {seconds} SECONDS, SLIDE {STEP} SECONDS, WA ts"
    return f"SELECT k, count(*) [{window}] AS n, sum(v) AS total, window_start, window_end FROM s{since} GROUP BY k"


def measure(load: Load, histories: Sequence[int], say: Callable[[str], None]) -> Iterator[Taken]:
    """Do it once with each number of rows in the history."""
    for history in histories:
        say(f"live: {history:,} rows of history")
        with tempfile.TemporaryDirectory(prefix="bench-live-") as folder:
            yield _run(Path(folder), load, history)


def _run(root: Path, load: Load, history: int) -> Taken:
    producer = Producer(root / "in", load)
    producer.put_history(history)
    with connect(root / "home", base=root) as mill:
        mill.execute(STREAM)
        _land(mill)
        mill.execute(f"CREATE QUERY beside AS SELECT k, v, ts FROM s WHERE k = 0 START AT NOW; {_warm()}")
        with producer, _Watched(mill, "beside") as beside:
            _follow(mill, "warm", producer.newest)
            mill.execute("DROP QUERY warm;")
            time.sleep(3.0)
            steady = beside.longest()
            begun = time.monotonic()
            created = _timed(mill, f"CREATE QUERY q AS {select(FIRST)} START AT NOW;", producer, FIRST)
            narrowed = _timed(mill, f"ALTER QUERY q WINDOW [{_window(SHORTER)}];", producer, SHORTER)
            widened = _timed(mill, f"ALTER QUERY q WINDOW [{_window(LONGER)}];", producer, LONGER)
            answers = mill.query("q").to_arrow()
            dropping = time.monotonic()
            mill.execute("DROP QUERY q;")
            dropped = time.monotonic() - dropping
            pause = beside.longest(begun)
            speed = _catch_up(mill, history, producer) if history else None
        bounded = _bounded(mill, history) if history else None
    check(answers, root / "in")
    return Taken(history, *created, *narrowed, *widened, dropped, pause, steady, speed, bounded, answers.num_rows)


def _window(seconds: int) -> str:
    return f"RANGE {seconds} SECONDS, SLIDE {STEP} SECONDS, WA ts"


def _warm() -> str:
    return f"CREATE QUERY warm AS {select(FIRST)} START AT NOW;"


def _land(mill: Mill) -> None:
    reader = mill.engine.readers.find("s")
    assert reader is not None
    reader.process_available()


def _timed(mill: Mill, statement: str, producer: Producer, seconds: int) -> tuple[float, float]:
    begun, newest = time.monotonic(), producer.newest
    mill.execute(statement)
    done = time.monotonic() - begun
    _follow(mill, "q", newest, seconds)
    return done, time.monotonic() - begun


def _follow(mill: Mill, name: str, newest: int, seconds: int | None = None) -> None:
    """Wait for an answer to a window that ends after a time, and that is so long."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    for table in mill.query(name).subscribe(timeout=PATIENCE_SECONDS):
        ends = pc.cast(table["window_end"], pa.int64()).to_numpy()
        starts = pc.cast(table["window_start"], pa.int64()).to_numpy()
        if ((ends > newest) & ((seconds is None) | (ends - starts == (seconds or 0) * 1_000_000))).any():
            return
        if time.monotonic() > deadline:
            break
    raise RunError(f"query {name} has given no answer in {PATIENCE_SECONDS:.0f} seconds")


def _catch_up(mill: Mill, history: int, producer: Producer) -> int:
    """How many rows a second a query reads that begins with the history, until it answers what comes in."""
    begun, newest = time.monotonic(), producer.newest
    mill.execute(f"CREATE QUERY everything AS {select(FIRST)} START AT EARLIEST;")
    _follow(mill, "everything", newest)
    taken = time.monotonic() - begun
    mill.execute("DROP QUERY everything;")
    return round(history / taken)


def _bounded(mill: Mill, history: int) -> int:
    """How many rows a second the same SELECT reads over what is kept."""
    begun = time.monotonic()
    mill.execute(select(FIRST, " SINCE EARLIEST"))
    return round(history / (time.monotonic() - begun))


def check(answers: pa.Table, folder: Path) -> None:
    """Each answer is that of DuckDB, of each window there is one, and after a change there are those of the new one."""
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        db.register("answers", answers)
        db.execute("""CREATE TABLE w AS SELECT DISTINCT epoch_us(window_start) AS a, epoch_us(window_end) AS b
            FROM answers""")
        db.execute(f"CREATE VIEW s AS SELECT epoch_us(ts) AS t, k, v FROM '{folder}/*.parquet'")
        wrong = db.execute("""SELECT count(*) FROM (
            (SELECT a, b, k, count(*), sum(v) FROM s JOIN w ON t >= a AND t < b GROUP BY ALL
             EXCEPT ALL SELECT epoch_us(window_start), epoch_us(window_end), k, n, total FROM answers)
            UNION ALL
            (SELECT epoch_us(window_start), epoch_us(window_end), k, n, total FROM answers
             EXCEPT ALL SELECT a, b, k, count(*), sum(v) FROM s JOIN w ON t >= a AND t < b GROUP BY ALL))""").fetchone()
        ends = [row[0] for row in db.execute("SELECT b FROM w ORDER BY b").fetchall()]
    if wrong is None or wrong[0]:
        raise RunError(f"bench live: {wrong and wrong[0]} answers are not those of DuckDB")
    gaps = [b - a for a, b in pairwise(ends) if b - a != STEP * 1_000_000]
    if gaps:
        raise RunError(f"bench live: windows are missing or answered twice: {len(gaps)} ends are {gaps[:3]} apart")


class Producer:
    """Puts files into a folder, from a thread of its own while it is open."""

    def __init__(self, folder: Path, load: Load) -> None:
        self._folder, self._load = folder, load
        self._drawn = np.random.default_rng(1)
        self._done = threading.Event()
        self._files = 0
        self.newest = _BEGIN
        folder.mkdir(parents=True)

    def put_history(self, rows: int) -> None:
        """Put so many rows there, in large files."""
        for begin in range(0, rows, FILE_ROWS):
            self.put(min(FILE_ROWS, rows - begin))

    def put(self, rows: int) -> None:
        """Put a file there with so many rows more."""
        stamps = self.newest + np.arange(rows) * (1_000_000 // self._load.rate)
        table = pa.table(
            {
                "ts": pa.array(stamps, pa.timestamp("us", tz="UTC")),
                "k": pa.array(self._drawn.integers(0, self._load.keys, rows), pa.int32()),
                "v": pa.array(self._drawn.integers(0, 1000, rows), pa.int32()),
            }
        )
        hidden = self._folder / f".{self._files:06d}.parquet"
        pq.write_table(table, hidden)
        hidden.rename(self._folder / f"{self._files:06d}.parquet")
        self._files += 1
        self.newest = int(stamps[-1]) + 1_000_000 // self._load.rate

    def __enter__(self) -> Producer:
        self._thread = threading.Thread(target=self._go, name="producer", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _go(self) -> None:
        while not self._done.wait(EVERY_SECONDS):
            self.put(STEP * self._load.rate)


class _Watched:
    """Notes when a query gives answers, while it is open."""

    def __init__(self, mill: Mill, name: str) -> None:
        self._query = mill.query(name)
        self._moments: list[float] = [time.monotonic()]

    def longest(self, since: float = 0.0) -> float:
        """The longest time between two answers, or since the last."""
        moments = [m for m in [*self._moments, time.monotonic()] if m >= since]
        return max((b - a for a, b in pairwise(moments)), default=0.0)

    def __enter__(self) -> _Watched:
        threading.Thread(target=self._go, name="watch", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _go(self) -> None:
        for _ in self._query.subscribe():
            self._moments.append(time.monotonic())
