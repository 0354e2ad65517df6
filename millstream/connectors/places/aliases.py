"""Aliases for paths whose names Spark would take for patterns.

There is no way to write such a name that stands for itself wherever Spark uses it. So folders and single files are
given to Spark as links to them, in a folder of this user's; files that it finds in folders are shown to it with letters
in place of the signs of patterns (LocalFiles.java). Spark remembers the names of the files that it has read, so a place
always has the same other name.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

from millstream.errors import RunError

SPECIAL = frozenset("\\*?[]{}")
"""What means something in Hadoop's patterns."""


_LETTERS = {ord(sign): 0xE000 + ord(sign) for sign in SPECIAL}
_SIGNS = {letter: sign for sign, letter in _LETTERS.items()}
"""The letters that Spark is shown, and what they stand for."""

_LETTER = "%EE%8"
"""What they begin with in addresses."""


def with_signs(path: str) -> str:
    r"""A path with the signs that it has, not the letters that Spark is shown.

    >>> with_signs("/tmp/x\ue05b1\ue05d"), with_signs("/tmp/é")
    ('/tmp/x[1]', '/tmp/é')
    """
    return path if path.isascii() or os.path.lexists(path) else path.translate(_SIGNS)


def with_letters(path: str) -> str:
    r"""A path as our class shows it to Spark.

    >>> with_signs(with_letters("/tmp/x[1]*"))
    '/tmp/x[1]*'
    """
    return path.translate(_LETTERS)


def is_special(path: str) -> bool:
    """Whether a path cannot be given to Hadoop as it is: with a pattern beside it, a colon cannot be, either."""
    return bool(SPECIAL & set(path))


def folder_alias(folder: str) -> str:
    """A folder by a name that is nothing special: its own one, if it can be."""
    if not is_special(folder):
        return folder
    link = _links() / _digest(folder)
    _link(link, folder)
    return str(link)


def file_alias(file: str) -> str:
    """A folder that holds nothing but a file, by a name that is nothing special."""
    folder = _links() / f"{_digest(file)}.d"
    folder.mkdir(exist_ok=True)
    endings = [e for e in Path(file).suffixes[-2:] if e[1:].isalnum()]  # they may say how it is compressed
    _link(folder / f"file{''.join(endings)}", file)
    return str(folder)


def real_path(path: str) -> str:
    """The path by its own name."""
    path = with_signs(path)
    base = f"{_base()}/"
    if not path.startswith(base):
        return path
    name, _, rest = path[len(base) :].partition("/")
    link, rest = (path, "") if name.endswith(".d") else (base + name, rest)
    try:
        return os.readlink(link) + (f"/{rest}" if rest else "")  # noqa: PTH115  (it keeps what a Path would change)
    except OSError:
        return path


def real_origin(url: str | None) -> str | None:
    """The address of a file by its own name.

    >>> real_origin("file:///tmp/a%20b.csv")
    'file:///tmp/a%20b.csv'
    >>> real_origin("file:///tmp/x%EE%81%9B.csv")
    'file:///tmp/x%5B.csv'
    """
    if url is None or not ("/aliases/" in url or _LETTER in url):
        return url
    path = unquote(urlsplit(url).path)
    return url if real_path(path) == path else Path(real_path(path)).as_uri()


def _link(link: Path, place: str) -> None:
    if not link.is_symlink():
        new = link.with_name(f"{link.name}.{os.getpid()}")
        new.unlink(missing_ok=True)
        new.symlink_to(place)
        new.replace(link)


def _digest(place: str) -> str:
    return hashlib.sha1(os.fsencode(place), usedforsecurity=False).hexdigest()[:16]


def _base() -> Path:
    return Path(tempfile.gettempdir()) / f"millstream-{os.getuid()}" / "aliases"


def _links() -> Path:
    """The folder of the links; nobody else may have made it for us, or could lead us elsewhere."""
    base = _base()
    base.parent.mkdir(mode=0o700, exist_ok=True)
    if base.parent.lstat().st_uid != os.getuid() or base.parent.is_symlink():
        raise RunError(f"{base.parent} belongs to somebody else\nhelp: remove it, or set TMPDIR to another folder")
    base.mkdir(mode=0o700, exist_ok=True)
    return base
