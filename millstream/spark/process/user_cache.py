"""Files in the user's cache that are made once and used by each start of Spark."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pyspark


def cache_path(name: str, *made_for: object) -> Path:
    """Where a file is kept, one for each installation of PySpark and for all that it was made for."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    installed = " ".join(map(str, (pyspark.__version__, Path(pyspark.__file__).parent, *made_for)))
    stem, suffix = name.split(".")
    return cache / "millstream" / f"{stem}-{hashlib.sha256(installed.encode()).hexdigest()[:16]}.{suffix}"


def is_own(path: Path) -> bool:
    """Whether a file is there, belongs to this user, and no other may write it: Spark runs the code in it."""
    try:
        found = path.stat()
    except OSError:
        return False
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022 and not set(str(path)) & {" ", os.pathsep}
