"""Text files as blocks of bytes, and these as lines, with the line ends that Hadoop knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from millstream.connectors.places.bad_files import AT_ONCE, BadFile, finding_damage

BLOCK = 4 << 20

BOM = b"\xef\xbb\xbf"

_COMPRESSION = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_OTHERS = (".deflate", ".lz4", ".snappy")
"""What Hadoop decompresses besides, in forms of its own."""


def blocks_of(place: str, whole: bool = False, first: int = BLOCK) -> Iterator[bytes]:
    """What is in a file, decompressed, the `first` block of so many bytes.

    `whole`, it is known before that block that there is no damage behind.
    """
    if whole and Path(place).suffix in _COMPRESSION:
        kept: list[bytes] = []
        found = 0
        for block in _blocks(place, first):
            found += len(block)
            kept = [*kept, block] if found <= AT_ONCE else []
        if found <= AT_ONCE:
            yield from kept
            return
    yield from _blocks(place, first)


def _blocks(place: str, first: int) -> Iterator[bytes]:
    ending = Path(place).suffix
    if ending in _OTHERS:
        raise BadFile(f"it is compressed as {ending}, and {', '.join(_COMPRESSION)} are what is read here")
    with finding_damage():
        file = pa.input_stream(place, compression=_COMPRESSION.get(ending))
    with file:
        size = first
        while block := _read(file, size):
            yield block
            size = BLOCK


def _read(file: pa.NativeFile, size: int) -> bytes:
    with finding_damage():
        return bytes(file.read(size))


def lines_of(blocks: Iterator[bytes], longest: int) -> Iterator[list[bytes]]:
    r"""The lines of blocks, many at once; of a line that is longer than that, one byte more is kept.

    >>> list(lines_of(iter([b"\xef\xbb\xbfa\r", b"\nb\rc", b"cc\n\nd"]), 2))
    [[b'a', b'b'], [b'ccc', b''], [b'd']]
    >>> list(lines_of(iter([b"abcd", b"efgh\r", b"i"]), 2))
    [[b'abc'], [b'i']]
    """
    rest, too_long = b"", False
    for number, block in enumerate(blocks):
        rest += block if number else block.removeprefix(BOM)
        # What follows a CR at the end decides whether that ends a line alone.
        end = max(rest.rfind(b"\n"), rest.rfind(b"\r", 0, len(rest) - 1)) + 1
        if end:
            found, rest = rest[:end].splitlines(), rest[end:]
            if too_long:
                found[0] = found[0][: longest + 1]
            yield found
            too_long = False
        if len(rest) > longest + 1:
            rest = rest[: longest + 1] + (b"\r" if rest.endswith(b"\r") else b"")
            too_long = True
    if rest:
        yield [line[: longest + 1] for line in rest.splitlines()]
