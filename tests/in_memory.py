"""Temporary files of a run of the tests, kept in memory where there is room: state stores wait for the disk otherwise.

Each query flushes some dozens of small files, and a disk takes milliseconds for each.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ENOUGH = 6 * 2**30


def use_memory() -> Path | None:
    """Send temporary files of this process, and of those that it starts, to memory; the folder, or None."""
    if "TMPDIR" in os.environ or not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ENOUGH:
        return None
    folder = Path(tempfile.mkdtemp(prefix="millstream-tests-", dir=MEMORY))
    folder.chmod(0o711)  # a database server of the tests is another user
    os.environ["TMPDIR"] = os.environ["SPARK_LOCAL_DIRS"] = str(folder)
    tempfile.tempdir = None  # it is looked up again
    return folder


def release(folder: Path) -> None:
    """Remove the folder again."""
    shutil.rmtree(folder, ignore_errors=True)
