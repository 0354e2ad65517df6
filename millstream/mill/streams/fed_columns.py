"""The columns with which rows were put into a stream: declared with others, it would read them as NULL."""

from __future__ import annotations

from pathlib import Path

from millstream.catalog.definitions import Stream
from millstream.errors import RunError


def check_fed(stream: Stream, folder: Path) -> None:
    """Refuse a stream whose rows, in a folder, have other columns than it; a stream without rows has those it says."""
    file, columns = folder.with_name("columns"), str(stream.schema)
    if file.exists() and any(folder.glob("*.parquet")):
        if (known := file.read_text()) != columns:
            raise RunError(
                f"rows were put into {stream.name} with the columns {known}, and it is declared now with {columns}\n"
                f"help: keep the declaration as it was; or DROP STREAM {stream.name}, and it begins without rows"
            )
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(columns)
