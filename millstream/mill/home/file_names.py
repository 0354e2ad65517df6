"""Names of users as names of files: different names become different files."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import quote

LONGEST = 255
"""So many bytes can the name of a file have."""


def file_name(name: str) -> str:
    """The file name of a name, whose case does not matter. Two names never have the same one.

    Plain names are their own file names. Other characters become the bytes that they have in UTF-8, so that neither
    the file system nor a pattern makes anything of them. What would be too long ends with a digest instead.

    >>> file_name("Alerts_2"), file_name("../../x"), file_name("größe")
    ('alerts_2', '%2E.%2F..%2Fx', 'gr%C3%B6%C3%9Fe')
    """
    if not name:
        return "%"
    encoded = quote(name.lower(), safe="", errors="surrogatepass")
    encoded = re.sub(r"^\.", "%2E", encoded)  # hidden, this folder, or the one above
    if len(encoded) <= LONGEST:
        return encoded
    # No other name gives a % that no two digits follow.
    digest = "%-" + hashlib.sha256(encoded.encode()).hexdigest()
    return encoded[: LONGEST - len(digest)].rstrip("%") + digest


def number_file_name(file: str, number: int) -> str:
    """The file name of a further folder for a name that has one: no name gives a % that no two digits follow.

    >>> number_file_name("alerts", 2)
    'alerts%~2'
    """
    return f"{file[: LONGEST - 12].rstrip('%')}%~{number}"


def as_it_is(name: str) -> str | None:
    """The file name that earlier versions gave to a name, if it can be one and is none that another name has now."""
    plain = name.lower()
    usable = plain not in {"", ".", ".."} and not any(c in plain for c in "/\0%")
    return plain if usable and plain != file_name(name) and plain.isprintable() else None
