"""The readers of kept streams: each lands what the source of its stream delivers, once for all queries."""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path

from pyspark.sql.streaming.query import StreamingQuery

from millstream.catalog.definitions import Stream
from millstream.connectors.files.source_log import forget_gone, landed_files
from millstream.connectors.listeners import trim_pushed
from millstream.errors import RunError
from millstream.history.index import Index
from millstream.history.log import Log
from millstream.history.reading_positions import find_reading_positions
from millstream.history.trim import trim_position
from millstream.mill.home.home import Home
from millstream.mill.reports.history_text import history_text
from millstream.mill.stored.stored_rows import StoredRows
from millstream.mill.streams.listeners import OnLoss
from millstream.spark.host import Host
from millstream.spark.lower.landing import landing_frame, log_schema
from millstream.spark.process.failures import SPARK_ERRORS, explain_failure
from millstream.spark.process.jvm import hang_up_at_end, hang_up_if_interrupted
from millstream.spark.run.landing_run import start_landing
from millstream.spark.run.progress import Counts, ProgressListener
from millstream.store.feed import Feed

LOG = logging.getLogger(__name__)

TIDY_SECONDS = 5.0
"""How often logs are trimmed and compacted."""


class Reader:
    """The reader of one stream."""

    def __init__(self, stream: Stream, log: Log) -> None:
        self.stream, self.log = stream, log
        self.counts = Counts()
        self.failure: RunError | None = None
        self._query: StreamingQuery | None = None
        self._stopping = False

    @property
    def is_active(self) -> bool:
        """Whether it runs."""
        return self._query is not None and bool(self._query.isActive)

    def begin(self, query: StreamingQuery, counts: Counts) -> None:
        """It runs as this query now."""
        self._query, self.counts, self._stopping, self.failure = query, counts, False, None

    def tell(self, moment: int) -> None:
        """Promise that nothing stamped before a moment will land, if that can be said: nothing is on its way here.

        A stream whose time stamps come with its tuples must have been silent for its IDLE AFTER.
        """
        now, landed = time.time_ns() // 1000, self.log.index.extent.landed
        silent = self.stream.idle_after or timedelta(0)
        if landed is None or now - landed >= silent // timedelta(microseconds=1):
            self.log.promise(moment, log_schema(self.stream))

    def trim(self, held: Callable[[str], dict[str, int]], feed: Feed | None = None) -> None:
        """Let go of what need not be kept, and is no longer read by anybody.

        A stream that queries `feed` has come as far as the slowest of them.
        """
        keep, stream = self.stream.keep, self.stream
        assert keep is not None  # noqa: S101  (there is no reader of others)
        now, timed, slack = time.time_ns() // 1000, stream.time is not None, stream.slack
        newest = self.log.index.extent.so_far
        if feed is not None and feed.feeders and timed and keep.length is not None and newest is not None:
            if feed.promised is None:
                return
            slack = timedelta(microseconds=max(newest - feed.promised, 0))
        position = trim_position(self.log.index.pieces(), keep, slack, now, timed)
        if position is not None:
            self.log.trim(min([position, *held(stream.name).values()]))

    def process_available(self) -> None:
        """Wait until all that the source holds now is in the log."""
        if self._query is not None:
            self._talk(self._query.processAllAvailable)

    def wait(self) -> None:
        """Wait for its end."""
        if self._query is not None:
            self._talk(self._query.awaitTermination)

    def stop(self) -> None:
        """Stop it; what was landed stays."""
        self._stopping = True
        if self._query is not None:
            with contextlib.suppress(*SPARK_ERRORS):
                self._query.stop()
        self.counts.let_go()

    def watch(self, lost: OnLoss) -> None:
        """Tell when it fails, as long as nobody stops it."""
        query = self._query
        assert query is not None  # noqa: S101  (it has begun)

        def go() -> None:
            try:
                with hang_up_at_end():
                    query.awaitTermination()
            except SPARK_ERRORS as problem:
                if not self._stopping:
                    self.failure = self._explain_failure(problem)
                    lost(self.stream.name, self.failure)

        threading.Thread(target=go, name="reader", daemon=True).start()

    def _talk(self, wait: Callable[[], object]) -> None:
        try:
            with hang_up_if_interrupted():
                wait()
        except SPARK_ERRORS as problem:
            raise self._explain_failure(problem) from problem

    def _explain_failure(self, problem: BaseException) -> RunError:
        return RunError(f"stream {self.stream.name} cannot be read: {explain_failure(problem)}")


class Readers:
    """The readers of a mill. Where queries run `once`, a reader drains its source before they begin."""

    def __init__(self, home: Home, stored: StoredRows, once: bool, lost: OnLoss) -> None:
        self._home, self._stored, self._once, self._lost = home, stored, once, lost
        self._by_stream: dict[str, Reader] = {}
        self._lock = threading.RLock()
        self._tidying, self._pinning = threading.Lock(), threading.Lock()
        self._pins = 0
        self._stopped = threading.Event()
        self._keeper: threading.Thread | None = None

    def open(self, stream: Stream) -> Reader:
        """The reader of a stream, which is new or was known to an earlier run; it does not run yet."""
        with self._lock:
            if (found := self._by_stream.get(stream.name.lower())) is None:
                self._check_declared(stream)
                found = self._by_stream[stream.name.lower()] = Reader(stream, Log(self._home.history_of(stream.name)))
            return found

    def run(self, streams: Iterable[Stream], host: Callable[[], Host], progress: ProgressListener) -> list[Reader]:
        """Let the readers of streams run, or land what is there if queries run once."""
        return [self._run(stream, host(), progress) for stream in streams if stream.keep is not None]

    def _run(self, stream: Stream, host: Host, progress: ProgressListener) -> Reader:
        with self._lock:
            reader = self.open(stream)
            reader.stream = stream  # who opened it first may not have known what feeds it
            if not reader.is_active:
                label = f"reader.{id(self):x}.{stream.name}"
                counts = progress.follow(label)
                frame, landing = landing_frame(host, stream)
                folder = self._home.stream_folder(stream.name)
                reader.begin(
                    start_landing(frame, landing, reader.log, folder / "checkpoint", label, self._once), counts
                )
                if not self._once:
                    reader.watch(self._lost)
                    self._keep_tidy()
        if self._once:
            reader.wait()
        return reader

    def find(self, stream: str) -> Reader | None:
        """The reader of a stream of that name."""
        return self._by_stream.get(stream.lower())

    def failure(self, streams: Iterable[str]) -> RunError | None:
        """Why nothing comes into one of some streams any more."""
        found = (self.find(stream) for stream in streams)
        return next((reader.failure for reader in found if reader is not None and reader.failure is not None), None)

    def close(self, stream: Stream) -> None:
        """Stop the reader of a stream; its history stays."""
        if reader := self._by_stream.pop(stream.name.lower(), None):
            reader.stop()

    def drop(self, stream: Stream) -> None:
        """Stop the reader of a stream for good, and remove its history."""
        self.close(stream)
        if stream.keep is not None:
            shutil.rmtree(self._home.stream_folder(stream.name), ignore_errors=True)

    def describe_history(self, stream: Stream) -> str:
        """What is kept of a stream, in words."""
        return history_text(stream, Index(self._home.history_of(stream.name)), self.find_reading_positions(stream.name))

    def find_reading_positions(self, stream: str) -> dict[str, int]:
        """From which position on each query still has to read a stream."""
        folders = (folder for kind in ("queries", "streams") for folder in (self._home.root / kind).iterdir())
        return find_reading_positions(folders, stream)

    def tidy(self) -> None:
        """Trim and compact the logs of all streams; what cannot be done now is tried again."""
        for reader in list(self._by_stream.values()):
            stream = reader.stream
            try:
                feed = self._stored.feed(self._home.feed_folder(stream.name)) if stream.fed else None
                with self._pinning:
                    if not self._pins:
                        reader.trim(self.find_reading_positions, feed)
                checkpoint = self._home.stream_folder(stream.name) / "checkpoint"
                trim_pushed(stream, self._home.log_of(stream.name), checkpoint)
                if feed is not None:
                    feed.trim(landed_files(checkpoint))
                    forget_gone(checkpoint, feed.folder)
                while reader.log.compact():
                    pass
            except (OSError, RunError, ValueError, KeyError) as problem:
                LOG.warning("the history of %s could not be tidied, and will be: %s", stream.name, problem)

    @contextlib.contextmanager
    def pin(self) -> Iterator[None]:
        """While a SELECT reads histories, nothing is trimmed."""
        with self._pinning:
            self._pins += 1
        try:
            yield
        finally:
            with self._pinning:
                self._pins -= 1

    def stop(self) -> None:
        """Stop all readers."""
        self._stopped.set()
        for reader in self._by_stream.values():
            reader.stop()
        with self._tidying:
            self.tidy()

    def _keep_tidy(self) -> None:
        """From time to time, until the end."""
        if self._keeper is None:
            self._keeper = threading.Thread(target=self._go_on_tidying, name="history", daemon=True)
            self._keeper.start()

    def _go_on_tidying(self) -> None:
        while not self._stopped.wait(TIDY_SECONDS):
            with self._tidying:
                if not self._stopped.is_set():
                    self.tidy()

    def _check_declared(self, stream: Stream) -> None:
        """A history belongs to the stream as it was declared: the rows in it have its columns."""
        file = self._home.stream_folder(stream.name) / "stream.json"
        source = "INSERT" if stream.fed or stream.source is None else str(stream.source)
        declared: dict[str, object] = {"source": source, "columns": str(stream.landed_schema), "time": stream.time}
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            _save(file, declared)
            return
        try:
            known = dict(json.loads(file.read_text()))
        except (TypeError, ValueError):
            raise RunError(
                f"{file} is damaged\nhelp: bring it back; or DROP STREAM {stream.name}, and its history begins anew"
            ) from None
        changed = [name for name, value in declared.items() if known.get(name) != value]
        if changed:
            raise RunError(
                f"the history of {stream.name} was kept with {_spell(known, changed)}, "
                f"and the stream is declared now with {_spell(declared, changed)}\n"
                f"help: keep the declaration as it was; or DROP STREAM {stream.name}, and its history begins anew"
            )


def _spell(declared: dict[str, object], names: Iterable[str]) -> str:
    return ", ".join(f"{name} {declared.get(name)}" for name in names)


def _save(file: Path, record: dict[str, object]) -> None:
    new = file.with_suffix(".new")
    new.write_text(json.dumps(record, indent=1))
    new.replace(file)
