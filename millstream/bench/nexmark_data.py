"""The events of the NEXMark suite: as Parquet, and dealt out to CSV files for an engine that reads no Parquet."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

import polars as pl

from millstream.nexmark.folder import KINDS

_TIMES = ("dateTime", "expires")


def csv_parts(folder: Path, parts: int) -> Path:
    """The events of a folder again, each kind dealt out to so many CSV files without a header; times are milliseconds.

    Dealt out, not cut: readers that each have one file then move through time together, and none runs ahead of the
    watermark of another.
    """
    target = folder.parent / f"{folder.name}-csv-{parts}"
    if target.exists():
        return target
    staging = folder.parent / f".{target.name}-{uuid.uuid4().hex[:8]}"
    try:
        for kind in KINDS:
            (staging / kind).mkdir(parents=True)
            rows = pl.read_parquet(folder / kind / "*.parquet")
            times = [pl.col(name).dt.epoch("ms") for name in _TIMES if name in rows.columns]
            # One file at a time, all of it in order, as an engine's readers take files whole.
            for part in range(parts):
                rows.with_columns(times).gather_every(parts, part).write_csv(
                    staging / kind / f"part-{part}.csv", include_header=False, quote_style="necessary"
                )
        staging.rename(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target
