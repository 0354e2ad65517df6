"""Batches in files of Arrow: one file for each, merged as they become many, and never half of one under its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from millstream.errors import RunError
from millstream.store.on_disk import put_in_place

MANY = 64
"""So many files of about one size become one."""

_NUMBER = b"batch"
_NAME = re.compile(r"(\d{12})-(\d{12})\.arrow")


@dataclass(frozen=True)
class Batch:
    """The rows of a batch, and its number."""

    number: int
    rows: pa.Table


@dataclass(frozen=True)
class BatchFile:
    """A file with the batches from one number to another, and how many there are."""

    path: Path
    first: int
    last: int
    batches: int


def write_file(folder: Path, batches: Sequence[Batch]) -> BatchFile:
    """Write batches to a file of their own, which is there as a whole when this returns, also after a power failure."""
    first, last = batches[0].number, batches[-1].number
    path = folder / f"{first:012d}-{last:012d}.arrow"
    new = folder / f".{path.name}.new"
    with new.open("wb") as out, pa.ipc.new_file(out, batches[0].rows.schema) as writer:
        for batch in batches:
            for part in batch.rows.combine_chunks().to_batches():
                writer.write_batch(part, custom_metadata={_NUMBER: str(batch.number).encode()})
    put_in_place(new, path)
    return BatchFile(path, first, last, len(batches))


def read_file(path: Path) -> Iterator[Batch]:
    """The batches of a file; their rows stay on disk until they are looked at."""
    try:
        with pa.ipc.open_file(pa.memory_map(str(path))) as reader:
            found: dict[int, list[pa.RecordBatch]] = {}
            for number in range(reader.num_record_batches):
                part, said = reader.get_batch_with_custom_metadata(number)
                found.setdefault(int(said[_NUMBER]), []).append(part)
            schema = reader.schema
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as problem:
        raise RunError(f"{path} is damaged: {problem}\nhelp: bring it back, or remove {path.parent}") from None
    for number, parts in found.items():
        yield Batch(number, pa.Table.from_batches(parts, schema))


def list_batch_files(folder: Path) -> list[tuple[Path, int, int]]:
    """The files of a folder, in the order of their batches; what a killed process left behind is removed."""
    named = [(path, _NAME.fullmatch(path.name)) for path in folder.iterdir()]
    files = sorted((int(name[1]), -int(name[2]), path) for path, name in named if name is not None)
    for path, name in named:
        if name is None and path.name.endswith(".new"):
            path.unlink()
    kept: list[tuple[Path, int, int]] = []
    for first, last, path in files:
        if kept and -last <= kept[-1][2]:  # it went into a merged one, and was to be removed
            path.unlink()
        else:
            kept.append((path, first, -last))
    return kept


def merged_tail(files: Sequence[BatchFile]) -> int:
    """How many of the last files are to become one: those of one size, once there are many of them.

    >>> one = [BatchFile(Path("x"), n, n, 1) for n in range(64)]
    >>> merged_tail(one), merged_tail(one[1:]), merged_tail([BatchFile(Path("x"), 0, 63, 64), *one[1:]])
    (64, 0, 0)
    """
    if not files:
        return 0
    size = _size(files[-1])
    same = 0
    for file in reversed(files):
        if _size(file) > size:
            break
        same += 1
    return same if same >= MANY else 0


def _size(file: BatchFile) -> int:
    """The power of MANY that it has batches of."""
    size, many = 0, file.batches
    while many >= MANY:
        size, many = size + 1, many // MANY
    return size


def remove(files: Iterable[Path]) -> None:
    """Remove files; one that is gone already is."""
    for file in files:
        file.unlink(missing_ok=True)
