"""Rows of Parquet files as CSV, for an engine that reads no Parquet."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import polars as pl

from millstream_bench.data.aside import write_aside


def csv_parts(folder: Path, parts: int, unit: Literal["us", "ms"], kinds: Sequence[str] = ()) -> Path:
    """The rows of a folder dealt out to so many CSV files without a header; times are whole numbers of the unit.

    With `kinds`, each is a folder inside it, dealt out by itself. Dealt out, not cut: readers that each have one file
    then move through time together, and none runs ahead of the watermark of another.
    """
    target = folder.parent / f"{folder.name}-csv-{parts}"
    if target.exists():
        return target
    with write_aside(target) as staging:
        for kind in kinds or ("",):
            (staging / kind).mkdir(parents=True)
            _deal(folder / kind, staging / kind, parts, unit)
    return target


def _deal(source: Path, target: Path, parts: int, unit: Literal["us", "ms"]) -> None:
    dealt = 0
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context((target / f"part-{part}.csv").open("wb")) for part in range(parts)]
        for parquet in sorted(source.glob("*.parquet")):
            rows = pl.read_parquet(parquet)
            rows = rows.with_columns(pl.col(name).dt.epoch(unit) for name, kind in rows.schema.items() if _time(kind))
            for part, file in enumerate(files):
                turn = (part - dealt) % parts  # the first row of this file that falls to the part
                rows.gather_every(parts, turn).write_csv(file, include_header=False, quote_style="necessary")
            dealt += rows.height


def _time(kind: pl.DataType) -> bool:
    return isinstance(kind, pl.Datetime)
