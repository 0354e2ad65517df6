"""Files and folders that are there whole or not at all."""

from __future__ import annotations

import contextlib
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def write_aside(target: Path) -> Iterator[Path]:
    """A path beside the target, which is renamed to the target once all is written.

    A run that was cut off must not leave half of its data to the next one. What the path holds is up to the caller,
    a file or a folder; a target that is an empty folder is replaced.
    """
    target = target.absolute()
    if not target.parent.exists():  # a file there is for the caller to stumble over: its own error says what is wrong
        target.parent.mkdir(parents=True, exist_ok=True)
    staging = target.parent / f".{target.name}-{uuid.uuid4().hex[:8]}"
    try:
        yield staging
        staging.rename(target)
    finally:
        if staging.is_dir():
            shutil.rmtree(staging, ignore_errors=True)
        else:
            staging.unlink(missing_ok=True)
