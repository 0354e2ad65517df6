"""An archive of the Java classes that Spark loads: a JVM that maps it starts in half of the time.

`make setup` makes it, or `python -m millstream.mill.make_class_archive`. Without it, or if it does not fit the Java
or the PySpark that is installed, the JVM loads its classes one by one, as it would anyway.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pyspark

# It says nothing on the terminal, neither that an archive does not fit nor what cannot be part of one.
QUIET = "-Xlog:disable -Xlog:all=error:stderr"


def archive_path() -> Path:
    """Where the archive is kept: in the user's cache, one for each installation of PySpark and of Java."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    installed = f"{pyspark.__version__} {Path(pyspark.__file__).parent} {os.environ.get('JAVA_HOME', '')}"
    return cache / "millstream" / f"classes-{hashlib.sha256(installed.encode()).hexdigest()[:16]}.jsa"


def java_options() -> str:
    """What tells a JVM to use the archive, or nothing.

    The JVM runs the code that is in it, so it must belong to this user, and nobody else may write it.
    """
    path = archive_path()
    try:
        found = path.stat()
    except OSError:
        return ""
    trusted = found.st_uid == os.geteuid() and not found.st_mode & 0o022 and " " not in str(path)
    return f"-XX:SharedArchiveFile={path} {QUIET}" if trusted else ""
