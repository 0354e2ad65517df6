"""A batch of one bucket of a host: many operators, each with blobs of its own among those of the bucket."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa

from millstream.operators.blobs import to_bytes
from millstream.operators.contract import Operator
from millstream.operators.panes.shared_panes import WINDOW, SharedPanes
from millstream.spark.hosts.freight import Kind, Piece, encode_failure
from millstream.spark.hosts.member import BatchMembers, Member, SharedState
from millstream.spark.stage.bucket_run import concatenate_small
from millstream.spark.stage.bucket_state import BucketState
from millstream.spark.stage.feeds import FeedProgress
from millstream.spark.stage.operator_batch import OperatorBatch
from millstream.spark.stage.pending_blobs import OwnBlobs, PendingBlobs
from millstream.spark.stage.wire import OneArray

FRAME_BYTES = 32 << 20
"""So many bytes go to Spark at once."""

STAGE = 1
"""The number of the only stage of a host."""


@dataclass(frozen=True)
class Bow:
    """What the stage of a host knows when it starts: its folder, its id, and which start of it this is."""

    folder: Path
    id: str
    start: str


@dataclass
class _Running:
    """An operator and the progress of its inputs, at work in this process."""

    operator: Operator
    inputs: FeedProgress


@dataclass
class _Run:
    """The operators of a bucket that this process has run: at which start, at which version of the state."""

    start: str
    version: int
    running: dict[str, _Running]
    blobs: PendingBlobs


_CACHE: dict[tuple[str, int], _Run] = {}


class HostBucket:
    """What a batch does with a bucket. A member that fails is told of, and stops nobody else."""

    def __init__(self, bow: Bow, bucket: int, state: BucketState) -> None:
        self._bow, self._bucket, self._state = bow, bucket, state
        self._place = (bow.id, bucket)

    def run(self, pieces: Iterable[Piece], batch_members: BatchMembers) -> Iterator[Piece]:
        """What is answered, and said of it, once the state is written."""
        packets: dict[str, list[bytes]] = {state.id: [] for state in batch_members.states}
        given: list[Piece] = []
        for piece in pieces:
            if piece.kind != Kind.PACKET:
                given.append(piece)
            elif piece.who:
                packets.setdefault(piece.who, []).append(piece.payload)  # one that was dropped meanwhile is passed over
            else:  # it speaks of the stream, and so to all
                for others in packets.values():
                    others.append(piece.payload)
        run = self._load()
        for gone in batch_members.gone:
            run.running.pop(gone, None)
            run.blobs.forget(f"{gone}/")
        for state in batch_members.states:
            if packets[state.id]:
                given += self._answer_packets(run, state, packets[state.id], list(batch_members.of_state(state.id)))
        if batch_members.states or batch_members.gone:
            run.version = self._state.save(run.blobs)
        _CACHE[self._place] = run
        yield from given

    def _load(self) -> _Run:
        # Taken out until the batch is done: what was left in the middle of one must not be used again.
        cached = _CACHE.pop(self._place, None)
        if cached is not None and (cached.start, cached.version) == (self._bow.start, self._state.version):
            return cached
        return _Run(self._bow.start, self._state.version, {}, PendingBlobs(self._state.stored()))

    def _answer_packets(
        self, run: _Run, state: SharedState, packets: list[bytes], members: list[Member]
    ) -> list[Piece]:
        prefix = f"{state.id}/"
        own = OwnBlobs(run.blobs, prefix)
        try:
            running = run.running.get(state.id)
            if running is None:
                running = _Running(state.make(own), FeedProgress((state.feed,), own))
                run.running[state.id] = running
            batch = OperatorBatch(running.operator, (state.feed,), running.inputs)
            answers = batch.run(packets, own)
        except Exception as problem:  # whatever a member does, the others go on
            run.running.pop(state.id, None)
            run.blobs.forget(prefix)
            return [Piece(state.id, Kind.FAILED, encode_failure(problem))]
        pieces: list[Piece] = []
        of_window = _by_window(answers)
        for member in members:
            pieces += _rows_of(member, of_window)
        rows = sum(table.num_rows for table in answers)
        mark = json.loads(batch.mark(self._bucket, (), rows, run.blobs.size_of(prefix)))
        if isinstance(running.operator, SharedPanes):
            mark["windows"] = running.operator.said_of_windows()
        return [*pieces, Piece(state.id, Kind.MARK, json.dumps(mark).encode())]


def _by_window(answers: list[pa.Table]) -> dict[str | None, list[pa.Table]]:
    """The answers of each of the windows that share panes; else there is but one, without a name."""
    found: dict[str | None, list[pa.Table]] = {}
    for table in answers:
        window = (table.schema.metadata or {}).get(WINDOW)
        found.setdefault(None if window is None else window.decode(), []).append(table)
    return {window: list(concatenate_small(tables)) for window, tables in found.items()}


def _rows_of(member: Member, answers: dict[str | None, list[pa.Table]]) -> Iterator[Piece]:
    """The rows of a member, or why it has none."""
    assert member.answers is not None  # noqa: S101  (it has a state)
    try:
        for table in answers.get(member.answers.window, []):
            rows = member.answers.of(table)
            if rows.num_rows:
                yield Piece(member.id, Kind.ROWS, to_bytes(rows))
    except Exception as problem:  # whatever a member does, the others go on
        yield Piece(member.id, Kind.FAILED, encode_failure(problem))


def frames_of(pieces: Iterable[Piece]) -> Iterator[pd.DataFrame]:
    """Pieces as frames of pandas, none of them too large."""
    waiting: list[Piece] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece.payload)
        if size >= FRAME_BYTES:
            yield _frame(waiting)
            waiting, size = [], 0
    if waiting:
        yield _frame(waiting)


def _frame(pieces: list[Piece]) -> pd.DataFrame:
    types = (("who", pa.string()), ("kind", pa.string()), ("payload", pa.binary()))
    columns = (pa.array([str(p[n]) if n < 2 else p[n] for p in pieces], type_) for n, (_, type_) in enumerate(types))
    series = (pd.Series(OneArray(pa.chunked_array([column]))) for column in columns)
    return pd.DataFrame(dict(zip((name for name, _ in types), series, strict=True)))
