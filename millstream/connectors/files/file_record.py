"""The record of the single file that a query writes: its path and inode, its contents, its length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from millstream.connectors.files.locked_file import LockedFile
from millstream.connectors.places.query_place import QueryPlace
from millstream.errors import RunError

RECORD = "sink"


@dataclass(frozen=True)
class FileRecord:
    """The state of a file after a batch; `open` while the next one is being added.

    `tail` is the digest of what its last bytes were. A record of an earlier version has no more than batch and length.
    """

    batch: int = -1
    length: int = 0
    path: str = ""
    inode: int | None = None
    tail: str = ""
    columns: tuple[str, ...] | None = None
    form: Mapping[str, str] | None = None
    open: bool = True

    @classmethod
    def load(cls, place: QueryPlace) -> FileRecord | None:
        """The record of a query that may have written something; else there is nothing to go on from."""
        known = {field.name for field in fields(cls)}
        loaded = {name: value for name, value in place.load(RECORD).items() if name in known}
        if place.fresh or not loaded:
            return None
        if loaded.get("columns") is not None:
            loaded["columns"] = tuple(loaded["columns"])
        record = cls(**loaded)
        return record if record.batch >= 0 or record.open else None

    @property
    def is_anywhere(self) -> bool:
        """Whether there was a file when it was written."""
        return bool(self.length or self.inode is not None or self.path)

    def save(self, place: QueryPlace) -> None:
        """Keep it. That a batch is being added need not be on disk before the batch is, and that is waited for."""
        place.save(RECORD, asdict(self), durable=not self.open)

    def check_file(self, file: LockedFile, place: QueryPlace) -> None:
        """Refuse to go on with a file that is not as it was left. What a kill left behind its end does no harm."""
        if not file.is_in_place:
            raise RunError(missing_text(file.path, place))
        if self.path and file.inode != self.inode:
            moved = self.path != str(file.path)
            raise RunError(moved_to(self.path, file.path, place) if moved else replaced_text(file.path, place))
        if file.size < self.length:
            was = f"{file.path} has {file.size} bytes, and {self.length} were written to it"
            raise RunError(f"{was}: somebody else has cut it off\n{_help(place)}")
        if self.tail and file.tail(self.length) != self.tail:
            raise RunError(replaced_text(file.path, place))
        if file.size > self.length and not self.open:
            was = f"{file.path} has {file.size} bytes, and only {self.length} were written to it"
            raise RunError(f"{was}: somebody else has added to it\n{_help(place)}")

    def check_contents(self, path: Path, columns: tuple[str, ...], form: Mapping[str, str]) -> None:
        """Refuse other columns below the header that is there, or rows of another form."""
        if self.columns is not None and self.columns != columns:
            raise RunError(
                f"{path} has the columns {', '.join(self.columns)}, and the query would now write "
                f"{', '.join(columns)}\nhelp: give the query a new file under a new name, or go on with the old columns"
            )
        changed = [name for name in form if self.form is not None and self.form.get(name) != form[name]]
        if self.form is not None and changed:
            name = changed[0]
            raise RunError(
                f"{path} was written with {name} '{self.form.get(name)}', and now it would be '{form[name]}'\n"
                f"help: give the query a new file under a new name, or go on with the old {name}"
            )


def missing_text(path: Path | str, place: QueryPlace) -> str:
    """What to say of a file or a folder that was there."""
    return f"{path} is gone, and with it what the query has written\n{_help(place)}"


def replaced_text(path: Path, place: QueryPlace) -> str:
    """What to say of a file that is another one."""
    return f"{path} is not the file that the query has written: it was replaced or rewritten\n{_help(place)}"


def moved_to(old: str, new: Path | str, place: QueryPlace) -> str:
    """What to say of a sink that leads elsewhere."""
    return (
        f"the query has written to {old}, and now it would write to {new}\n"
        f"help: move {Path(old).name} there; or remove {place.folder / f'{RECORD}.json'} to go on in the new place "
        f"with what comes from now on; or remove {place.folder} to write all of it anew"
    )


def _help(place: QueryPlace) -> str:
    return (
        f"help: bring it back as it was; or remove {place.folder / f'{RECORD}.json'} to go on at the end of what is "
        f"there now; or remove {place.folder}, and what it wrote, to write all of it anew"
    )
