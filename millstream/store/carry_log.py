"""Takes the rows of a log along to another folder, in which the batches of its query begin with zero again."""

from __future__ import annotations

import json
import shutil
import uuid
from pathlib import Path

from millstream.store.batch_files import list_batch_files, read_file, remove, write_file
from millstream.store.on_disk import put_in_place

BEGINS, TRIMMED, SIGN = "begins.json", "trimmed.json", "log.id"


def carry_log(old: Path, new: Path) -> None:
    """Copy a log, unless there is one in the new folder: all of it is there, or nothing is."""
    if new.exists() or not old.exists():
        return
    aside = new.parent / f".{new.name}.new"
    shutil.rmtree(aside, ignore_errors=True)
    shutil.copytree(old, aside)
    last = max((last for _, _, last in list_batch_files(aside)), default=-1)
    if (trimmed := aside / TRIMMED).exists():
        last = max(last, int(json.loads(trimmed.read_text())["batch"]))
    (aside / BEGINS).write_text(json.dumps({"batch": last + 1}))
    aside.rename(new)


def begin_of(folder: Path) -> int:
    """The number in the log of the first batch of its query."""
    record = folder / BEGINS
    return int(json.loads(record.read_text())["batch"]) if record.exists() else 0


def id_of(folder: Path) -> str:
    """What a log is known by: drawn when it begins, it goes along where its rows do."""
    file = folder / SIGN
    if not file.exists():
        new = folder / f".{SIGN}.new"
        new.write_text(uuid.uuid4().hex[:8])
        put_in_place(new, file)
    return file.read_text()


def clear_log(folder: Path) -> None:
    """Remove the batches of a query that has come to nothing; those that were taken along stay."""
    begin = begin_of(folder)
    if not begin:
        shutil.rmtree(folder, ignore_errors=True)
        return
    (folder / SIGN).unlink(missing_ok=True)  # positions of what goes now may have been seen, and come again
    for path, _, last in list_batch_files(folder):
        if last >= begin:
            kept = [batch for batch in read_file(path) if batch.number < begin]
            if kept:
                write_file(folder, kept)
            remove([path])
