"""A member parts from its host: it is given a host of its own, which goes on where it left the other one.

Spark's checkpoint is copied as it is at the end of a batch. Files that nobody changes any more are linked. Those that
name the marks which were sent to the old host are written anew, with the names of the copies.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from pathlib import Path

from millstream.connectors.files.source_log import NONE, Listed
from millstream.connectors.places.query_place import QueryPlace
from millstream.history.reading_positions import STARTS
from millstream.spark.hosts.roster import MEMBERS, STATES, Roster, is_committed

HIDDEN = "."
CONTROL = "control"
METADATA = "_metadata"


def part_member(old: Path, new: Path, member: str, batch: int) -> None:
    """Make the folder of a host that begins with a batch of another one, the first that is not complete there.

    All that the other one knows goes along; of its members, only one is there. Both folders lie side by side.
    """
    aside = new.with_name(f".{new.name}.{uuid.uuid4().hex[:8]}")
    try:
        _copy(old, aside, new, member, batch)
        aside.rename(new)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def _copy(old: Path, aside: Path, new: Path, member: str, batch: int) -> None:
    if batch and not is_committed(old, batch - 1):
        raise OSError(f"batch {batch - 1} of {old} is not complete")
    (aside / CONTROL).mkdir(parents=True)
    shutil.copy2(old / "buckets.json", aside)
    if (old / STARTS).exists():
        shutil.copy2(old / STARTS, aside)
    QueryPlace(aside, "", fresh=False).save("host", {"id": uuid.uuid4().hex[:12]})
    for kind in (MEMBERS, STATES):
        shutil.copytree(old / kind, aside / kind)
    _checkpoint(old, aside, new, batch)
    for mark in (old / CONTROL).glob("*"):  # later than the lists that name them
        _copy_file(mark, aside / CONTROL / mark.name)
    roster = Roster(aside)
    roster.entries = dict(Roster(old).entries)
    for entry in list(roster.entries.values()):
        if entry.member == member:
            roster.back(member)
        else:
            roster.end(entry.member, batch, "it is a member of another host", dropped=True)


def _checkpoint(old: Path, aside: Path, new: Path, batch: int) -> None:
    source, target = old / "checkpoint", aside / "checkpoint"
    target.mkdir()
    (target / "metadata").write_text(f'{{"id":"{uuid.uuid4()}"}}')  # Spark runs no two queries of one id
    for log, last in (("offsets", batch), ("commits", batch - 1)):
        (target / log).mkdir()
        for file in (source / log).glob("[0-9]*"):
            if file.name.isdigit() and int(file.name) <= last:
                _copy_file(file, target / log / file.name)
    for folder, _, files in os.walk(source / "sources"):
        here = target / Path(folder).relative_to(source)
        here.mkdir()
        for name in files:
            if not name.startswith(HIDDEN):
                lines = (Path(folder) / name).read_text().split("\n")
                (here / name).write_text("\n".join(_with_copies(line, old, new) for line in lines))
    for folder, _, files in os.walk(source / "state"):
        here = target / Path(folder).relative_to(source)
        here.mkdir()
        for name in files:
            file = Path(folder) / name
            if METADATA not in file.parts:
                _link_file(file, here / name)
            elif not name.startswith(HIDDEN):  # it names files of the checkpoint
                said = file.read_text().replace(f"/{old.name}/checkpoint/", f"/{new.name}/checkpoint/")
                (here / name).write_text(said)


def _with_copies(line: str, old: Path, new: Path) -> str:
    """A line of the list of files that were read, in which a mark of the old host is its copy for the new one.

    >>> print(_with_copies('{"path":"file:///x/s/1/control/7.mark","batchId":3}', Path("/x/s/1"), Path("/x/s/2")))
    {"path":"file:///x/s/2/control/7.mark","batchId":3}
    """
    try:
        path = str(json.loads(line)["path"])
    except (ValueError, KeyError, TypeError):  # the version of the list, or no list
        return line
    if Listed(NONE, path).path.parent != old / CONTROL:
        return line
    before, name = path.removesuffix(f"/{old.name}/{CONTROL}/{Path(path).name}"), Path(path).name
    return line.replace(path, f"{before}/{new.name}/{CONTROL}/{name}")


def _copy_file(file: Path, to: Path) -> None:
    """A copy of a file, unless it is removed just now: then it is no longer needed."""
    try:
        shutil.copy2(file, to)
    except FileNotFoundError:
        return


def _link_file(file: Path, to: Path) -> None:
    """A file of the state of Spark, which it never writes again under that name, only in its place."""
    try:
        os.link(file, to)
    except FileNotFoundError:  # old versions are removed meanwhile
        return
    except OSError:  # a file system without links
        _copy_file(file, to)
