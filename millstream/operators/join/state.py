"""The state of one side of a join: slices of tuples that can still match, each a blob."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

import numpy as np
import pyarrow as pa

from millstream.operators.blobs import Blobs, from_bytes, to_bytes
from millstream.operators.join.keys import Bools, Numbers
from millstream.operators.join.slice import Slice, merged, sliced
from millstream.operators.join.window_join_job import WindowJoinJob

GRANULES = 4
"""A slice has about the times of so many parts of the reach, so that it dies as a whole."""

MOST_PARTS = 8
"""The tuples of a batch become no more slices, however far apart they are."""

SMALL = 1 << 16
"""To write a slice of fewer tuples anew costs less than to look into one more slice, batch after batch."""

FAN = 4
"""So many slices of one granule and about one size are merged; of small ones two."""

MOST_SLICES = 32
"""If there are more, those of different granules are merged too."""


class JoinState:
    """The stored tuples of a port.

    A tuple is dead if it is before `cut` or freed, so that no partner can come any more; in SEMI and ANTI joins a tuple
    of the left side is so too once it is settled. Slices are written only once, but for the ones of which half is dead.
    """

    def __init__(self, job: WindowJoinJob, port: int, blobs: Blobs) -> None:
        self._keys = job.key_names
        self._blobs = blobs
        self._prefix = f"{port}/slice/"
        self._flags = f"{port}/settled/"
        self._drops_settled = port == 0 and not job.kind.paired
        width = job.reach.width
        self._granule = None if width is None else max(width // GRANULES, 1)
        self.cut: int | None = None
        self._mark: int | None = None
        flags = {name[len(self._flags) :]: blob for name, blob in blobs.scan(self._flags)}
        stored = {name[len(self._prefix) :]: blob for name, blob in blobs.scan(self._prefix)}
        self.slices = [self._read(number, blob, flags.get(number)) for number, blob in stored.items()]
        self._next = max((int(number) + 1 for number in stored), default=0)

    def _read(self, number: str, blob: bytes | pa.Buffer, flags: bytes | pa.Buffer | None) -> Slice:
        table = from_bytes(blob)
        settled = None
        if flags is not None:
            settled = np.unpackbits(np.frombuffer(flags, np.uint8), count=table.num_rows).astype(np.bool_)
        slice_ = sliced(table, self._keys, settled)
        if slice_.sorted_anew:
            # Flags are written by position: the blob must be as the slice is.
            self._blobs.delete(f"{self._prefix}{number}")
            self._blobs.delete(f"{self._flags}{number}")
        else:
            slice_.number = int(number)
        return slice_

    # -- what is there -------------------------------------------------------------------------------------

    def live(self, slice_: Slice) -> Bools:
        """Which tuples of a slice can still match."""
        live = np.ones(len(slice_), dtype=np.bool_)
        if self.cut is not None and slice_.oldest < self.cut:
            live[slice_.before(self.cut)] = False
        if slice_.freed is not None:
            live &= ~slice_.freed
        if self._drops_settled and slice_.settled is not None:
            live &= ~slice_.settled
        return live

    def tables(self) -> Iterator[pa.RecordBatch]:
        """The tuples that can still match."""
        for slice_ in self.slices:
            yield slice_.chosen(np.flatnonzero(self.live(slice_))).rows

    def __len__(self) -> int:
        return sum(len(s) - self._dead(s) for s in self.slices)

    # -- changes -------------------------------------------------------------------------------------------

    def add(self, tuples: Slice, at: Numbers) -> None:
        """Store the tuples in some positions, by their times."""
        if not len(at):
            return
        if self._granule is None:
            self.slices.append(tuples.chosen(at))
            return
        granules = tuples.times[at] // self._granule
        first, last = int(granules.min()), int(granules.max())
        step = 1
        while last // step - first // step >= MOST_PARTS:
            step *= 2
        parts = granules // step
        for part in range(first // step, last // step + 1):
            chosen = at if first // step == last // step else at[parts == part]
            if len(chosen):
                self.slices.append(tuples.chosen(chosen))

    def move(self, cut: int | None) -> None:
        """Let go of dead tuples: of whole slices of them at once, and of others when they are half of a slice."""
        self.cut = cut
        kept = []
        for slice_ in self.slices:
            if cut is not None and slice_.newest < cut:
                self._delete(slice_)
                continue
            aged = slice_.freed is not None or (cut is not None and slice_.oldest < cut)
            if not (aged or slice_.changed) or 2 * self._dead(slice_) < len(slice_):
                kept.append(slice_)
                continue
            self._delete(slice_)
            live = np.flatnonzero(self.live(slice_))
            if len(live):
                kept.append(slice_.chosen(live))
        self.slices = kept

    def tidy(self, mark: int | None) -> None:
        """Merge slices, so that there are few; a tuple takes part in that as often as their sizes can grow.

        `mark` is the low-watermark of this side: granules before it will get no more tuples.
        """
        self._mark = mark
        while crowds := [c for c in _together(self.slices, self._place) if len(c) >= (FAN if _is_large(c[0]) else 2)]:
            for crowd in crowds:
                self._merge(crowd)
        while len(self.slices) > MOST_SLICES:
            # Neighbours in time, so that the slices that come of it do not live much longer than these.
            crowd = max(_together(self.slices, _tier), key=len)
            crowd.sort(key=lambda s: s.oldest)
            if len(crowd) == 1:
                break
            for begin in range(0, len(crowd), FAN):
                self._merge(crowd[begin : begin + FAN])

    def write(self) -> None:
        """Write what is new."""
        for slice_ in self.slices:
            if slice_.number is None:
                slice_.number = self._next
                self._next += 1
                self._blobs.put(f"{self._prefix}{slice_.number:09d}", to_bytes(pa.Table.from_batches([slice_.rows])))
                slice_.changed = slice_.settled is not None
            if slice_.changed and slice_.settled is not None:
                self._blobs.put(f"{self._flags}{slice_.number:09d}", np.packbits(slice_.settled).tobytes())
                slice_.changed = False

    def _dead(self, slice_: Slice) -> int:
        """How many tuples of a slice are dead."""
        if slice_.freed is not None or (self._drops_settled and slice_.settled is not None):
            return len(slice_) - int(np.count_nonzero(self.live(slice_)))
        return len(slice_.before(self.cut)) if self.cut is not None and slice_.oldest < self.cut else 0

    def _merge(self, slices: list[Slice]) -> None:
        if len(slices) > 1:
            parts = [s.chosen(np.flatnonzero(self.live(s))) for s in slices]
            gone = {id(s) for s in slices}
            for slice_ in slices:
                self._delete(slice_)
            self.slices = [s for s in self.slices if id(s) not in gone]
            self.slices.append(merged(parts, self._keys))

    def _place(self, slice_: Slice) -> Hashable:
        """The granule and the tier of a slice; a place of its own if it is in several granules."""
        if self._granule is None:
            return 0, _tier(slice_)
        first = slice_.oldest // self._granule
        if first != slice_.newest // self._granule:
            return id(slice_)
        complete = self._mark is not None and (first + 1) * self._granule <= self._mark
        return first, 0 if complete and not _is_large(slice_) else _tier(slice_)

    def _delete(self, slice_: Slice) -> None:
        if slice_.number is not None:
            self._blobs.delete(f"{self._prefix}{slice_.number:09d}")
            if slice_.settled is not None:
                self._blobs.delete(f"{self._flags}{slice_.number:09d}")


def _tier(slice_: Slice) -> int:
    """Slices of one tier have about the same size, up to a factor of two, or four if they are large."""
    bits = len(slice_).bit_length()
    return SMALL.bit_length() + bits // 2 if _is_large(slice_) else max(bits, 9)


def _is_large(slice_: Slice) -> bool:
    return len(slice_) >= SMALL


def _together(slices: Iterable[Slice], place: Callable[[Slice], Hashable]) -> list[list[Slice]]:
    """The slices by place."""
    places: dict[Hashable, list[Slice]] = {}
    for slice_ in slices:
        places.setdefault(place(slice_), []).append(slice_)
    return list(places.values())
