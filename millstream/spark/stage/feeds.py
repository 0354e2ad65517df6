"""The progress of the inputs of a stage, and the punctuation that its operator gets from it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from millstream.operators.blobs import Blobs, from_bytes, to_bytes
from millstream.progress.group_meld import GroupMeld
from millstream.progress.group_table import from_table
from millstream.progress.low_watermark import LowWatermark
from millstream.progress.meld import Meld
from millstream.progress.punctuation import Punctuation
from millstream.spark.stage.arrival_order import Ordering
from millstream.spark.stage.packets import TaskProgress

PROGRESS = "stage"
"""The blob in which a stage keeps how far its inputs have come; no operator has one of that name."""

ARRIVED = "stage/arrived"
"""The blob that says how many tuples of each input have been numbered, where that is done."""

GROUPS = "stage/groups/"
"""Before the number of a port: the blob of what its inputs, if there are several, have promised to groups."""


@dataclass(frozen=True)
class Feed:
    """One input of a stage: the port of the operator that it goes to, and where its progress comes from.

    That is a slack, or the buckets of the stage before. `order` is how its tuples come to their numbers, if they have
    such.
    """

    port: int = 0
    slack: int | None = None
    origins: int = 0
    order: Ordering | None = None

    @property
    def ends(self) -> int:
        """How many ends it has."""
        return max(self.origins, 1)


class FeedProgress:
    """The progress of the inputs of a stage, as it was after the last batch, and how a batch moves it."""

    def __init__(self, feeds: Sequence[Feed], blobs: Blobs) -> None:
        self._feeds = feeds
        self.watermarks = [LowWatermark(feed.slack, feed.origins) for feed in feeds]
        self._ports: dict[int, list[int]] = {}
        for number, feed in enumerate(feeds):
            self._ports.setdefault(feed.port, []).append(number)
        if record := blobs.get(PROGRESS):
            known = json.loads(record)
            # Before stages had several inputs, they kept the record of the only one.
            for watermark, one in zip(self.watermarks, known if isinstance(known[0], list) else [known], strict=True):
                watermark.restore(one)
        parts = {port: [self.watermarks[n] for n in numbers] for port, numbers in self._ports.items()}
        self._melds = {port: Meld(watermarks) for port, watermarks in parts.items()}
        self.arrived: dict[str, int] = json.loads(blobs.get(ARRIVED) or b"{}")
        self._groups = {port: GroupMeld(watermarks) for port, watermarks in parts.items() if len(watermarks) > 1}
        for port, groups in self._groups.items():
            if promised := blobs.get(f"{GROUPS}{port}"):
                groups.restore(from_bytes(promised))

    def take(self, said: Sequence[TaskProgress]) -> None:
        """Take note of what a batch has brought, but for promises to groups."""
        for progress in said:
            for feed in self._spoken_of(progress):
                self.watermarks[feed].saw(progress.oldest, progress.newest)
                for origin, time in progress.promises:
                    self.watermarks[feed].promised(time, origin)

    def punctuation(self, said: Sequence[TaskProgress], ended: set[int]) -> Iterator[Punctuation]:
        """What the operator is to be told after that: of groups, of all tuples of a port, of its end."""
        yield from self._of_groups(said)
        for port, meld in self._melds.items():
            if meld.time is not None:
                yield Punctuation(meld.time, oldest=meld.oldest, port=port)
            if port in ended:
                yield Punctuation(meld.newest or 0, final=True, oldest=meld.oldest, port=port)

    def _of_groups(self, said: Sequence[TaskProgress]) -> Iterator[Punctuation]:
        for progress in said:
            if progress.groups is None or progress.feed is None:
                continue
            port = self._feeds[progress.feed].port
            if port in self._groups:  # the group may still come from another input
                self._groups[port].promised(self._ports[port].index(progress.feed), progress.groups)
            else:
                for group, time in from_table(progress.groups).items():
                    yield Punctuation(time, group=group, port=port)
        for port, groups in self._groups.items():
            for group, time in groups.risen():
                yield Punctuation(time, group=group, port=port)

    def ended_ports(self, said: Sequence[TaskProgress]) -> set[int]:
        """The ports whose inputs have all ended, as far as it is known: sources, or all buckets of a stage before."""
        final: dict[int, set[int | None]] = {}
        for progress in said:
            for feed in self._spoken_of(progress):
                final.setdefault(feed, set()).update(progress.final)
        ended = {n for n, feed in enumerate(self._feeds) if len(final.get(n, ())) >= feed.ends}
        return {port for port, feeds in self._ports.items() if ended.issuperset(feeds)}

    def is_over(self, ended: set[int]) -> bool:
        """Whether all ports have ended."""
        return len(ended) == len(self._ports)

    def save(self, blobs: Blobs) -> None:
        """Put what must be remembered into the blobs."""
        blobs.put(PROGRESS, json.dumps([w.record for w in self.watermarks]).encode())
        if self.arrived:
            blobs.put(ARRIVED, json.dumps(self.arrived).encode())
        for port, groups in self._groups.items():
            if groups.changed:
                groups.changed = False
                record = groups.record
                if record is None:
                    blobs.delete(f"{GROUPS}{port}")
                else:
                    blobs.put(f"{GROUPS}{port}", to_bytes(record))

    def _spoken_of(self, progress: TaskProgress) -> list[int]:
        """The inputs that something is said of."""
        if progress.feed is not None:
            return [progress.feed]
        return [number for number, feed in enumerate(self._feeds) if not feed.origins]
