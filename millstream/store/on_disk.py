"""What is on disk is there after a power failure, too."""

from __future__ import annotations

import os
from pathlib import Path


def put_in_place(new: Path, path: Path) -> None:
    """Give a file that was written its name, once all of it is on disk; when this returns, the name is, too."""
    sync(new)
    new.rename(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Have a file on disk, or the names in a folder."""
    at = os.open(path, os.O_RDONLY)
    try:
        os.fsync(at)
    finally:
        os.close(at)
