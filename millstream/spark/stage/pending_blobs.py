"""The blobs of a bucket in a batch, and the part of them that belongs to one of several operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa


class PendingBlobs:
    """Blobs of a bucket: read once, and written back at the end of a batch."""

    def __init__(self, stored: Mapping[str, bytes | pa.Buffer]) -> None:
        self._stored = stored
        self._sizes = {name: len(blob) for name, blob in stored.items()}
        self.puts: dict[str, bytes] = {}
        self.deletes: set[str] = set()

    def get(self, name: str) -> bytes | None:
        """The blob of that name, None if there is none."""
        found = None if name in self.deletes else self.puts.get(name, self._stored.get(name))
        return found.to_pybytes() if isinstance(found, pa.Buffer) else found

    def put(self, name: str, blob: bytes) -> None:
        """Keep a blob."""
        self.puts[name] = blob
        self.deletes.discard(name)

    def delete(self, name: str) -> None:
        """Forget a blob."""
        self.puts.pop(name, None)
        self.deletes.add(name)

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes | pa.Buffer]]:
        """All blobs whose names begin so, by name."""
        now = {**{n: b for n, b in self._stored.items() if n not in self.deletes}, **self.puts}
        yield from ((name, now[name]) for name in sorted(now) if name.startswith(prefix))

    @property
    def size(self) -> int:
        """The bytes of all blobs, also of those that are about to be written."""
        gone = {*self.puts, *self.deletes}
        kept = sum(size for name, size in self._sizes.items() if name not in gone)
        return kept + sum(map(len, self.puts.values()))

    def settle(self) -> None:
        """Begin anew after everything has been written; what was read is no longer needed."""
        self._sizes.update((name, len(blob)) for name, blob in self.puts.items())
        for name in self.deletes:
            self._sizes.pop(name, None)
        self._stored = {}
        self.puts = {}
        self.deletes = set()

    def size_of(self, prefix: str) -> int:
        """The bytes of the blobs whose names begin so."""
        gone = {*self.puts, *self.deletes}
        kept = (size for name, size in self._sizes.items() if name.startswith(prefix) and name not in gone)
        return sum(kept) + sum(len(blob) for name, blob in self.puts.items() if name.startswith(prefix))

    def forget(self, prefix: str) -> None:
        """Delete the blobs whose names begin so."""
        for name in [name for name in (*self._sizes, *self.puts) if name.startswith(prefix)]:
            self.delete(name)

    @property
    def prefixes(self) -> set[str]:
        """What stands before the first slash of the names."""
        return {name.partition("/")[0] for name in (*self._sizes, *self.puts) if name not in self.deletes}


class OwnBlobs:
    """The blobs of one operator among those of a bucket: to it, their names begin behind the prefix."""

    def __init__(self, blobs: PendingBlobs, prefix: str) -> None:
        self._blobs, self._prefix = blobs, prefix

    def get(self, name: str) -> bytes | None:
        """The blob of that name, None if there is none."""
        return self._blobs.get(self._prefix + name)

    def put(self, name: str, blob: bytes) -> None:
        """Keep a blob."""
        self._blobs.put(self._prefix + name, blob)

    def delete(self, name: str) -> None:
        """Forget a blob."""
        self._blobs.delete(self._prefix + name)

    def scan(self, prefix: str) -> Iterator[tuple[str, bytes | pa.Buffer]]:
        """All blobs whose names begin so, by name."""
        for name, blob in self._blobs.scan(self._prefix + prefix):
            yield name.removeprefix(self._prefix), blob
