"""An archive of the Java classes that Spark loads, with which a JVM starts in half the time.

`make setup` makes it, or `python -m millstream.mill.make_java_files`. Without it, or if it does not fit the Java
or the PySpark that is installed, the JVM loads its classes one by one, as it would anyway.
"""

from __future__ import annotations

import os
from pathlib import Path

from millstream.spark.process.user_cache import cache_path, is_own

# It says nothing on the terminal, neither that an archive does not fit nor what cannot be part of one.
QUIET = "-Xlog:disable -Xlog:all=error:stderr"


def archive_path() -> Path:
    """Where the archive is kept: one for each Java."""
    return cache_path("classes.jsa", os.environ.get("JAVA_HOME", ""))


def java_options() -> str:
    """What tells a JVM to use the archive, or nothing."""
    path = archive_path()
    return f"-XX:SharedArchiveFile={path} {QUIET}" if is_own(path) else ""
