"""The auction house as a folder of files.

The folder holds person/, auction/ and bid/ with part-00000.parquet and so on, where file n of each kind covers the
same range of events; side/ with the side table of q13; and nexmark.json with the settings and the counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from millstream.errors import SettingError
from millstream_bench.data.aside import write_aside
from millstream_bench.nexmark.events import events as made_events
from millstream_bench.nexmark.settings import Settings

KINDS = ("person", "auction", "bid")
FORMATS = ("parquet", "csv", "json")
FILES = 20
SIDE_ROWS = 10_000

_OLDEST = 1e9
_TIME_TEXT = "%Y-%m-%d %H:%M:%S%.3f"
# A dictionary pays where values come again; random texts would fill it for nothing.
_REPEATED = {"name", "city", "state", "category", "seller", "auction", "bidder", "channel", "url", "dateTime"}


def auctions(
    root: Path,
    *,
    events: int,
    seed: int | None = None,
    format: str = "parquet",  # noqa: A002
    files: int = FILES,
    settings: Settings | None = None,
) -> Path:
    """The folder of so many events below `root`, made now if it is not there yet.

    Its name tells the settings that are not the defaults.
    """
    chosen = _seeded(settings, seed)
    others = "".join(f"-{name}-{value}" for name, value in chosen.differing().items()).replace(":", "")
    folder = root / f"nexmark-{events}-events-{files}-{format}-files-seed-{chosen.seed}{others}"
    if not folder.exists():
        write(folder, events=events, format=format, files=files, settings=chosen)
    return folder


def write(
    folder: Path,
    *,
    events: int,
    seed: int | None = None,
    format: str = "parquet",  # noqa: A002
    files: int = FILES,
    settings: Settings | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, int]:
    """Write so many events to a folder that is new or empty; the number of rows of each kind.

    A seed goes before that of the settings. `progress` is told how many events are done, after each file.
    """
    chosen = _seeded(settings, seed)
    _check(folder, events, format, files)
    try:
        with write_aside(folder) as staging:
            for kind in (*KINDS, "side"):
                (staging / kind).mkdir(parents=True)
            _write_rows(side(), staging / "side" / f"side.{format}", 0)
            counts = dict.fromkeys(KINDS, 0)
            for number in range(files):
                first, last = events * number // files, events * (number + 1) // files
                for kind, rows in zip(KINDS, made_events(first, last, chosen), strict=True):
                    _write_rows(rows, staging / kind / f"part-{number:05d}.{format}", number)
                    counts[kind] += rows.num_rows
                progress(last)
            about = {"events": events, "format": format, "files": files, "counts": counts, "settings": chosen.to_json()}
            (staging / "nexmark.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    except OSError as problem:
        raise SettingError(f"cannot write {folder}: {problem.strerror or problem}") from problem
    return counts


def side() -> pa.Table:
    """The side table of q13: each number and its text.

    >>> side().slice(7, 1).to_pylist()
    [{'key': 7, 'value': '7'}]
    """
    keys = pa.array(range(SIDE_ROWS), pa.int64())
    return pa.table({"key": keys, "value": keys.cast(pa.string())})


def _seeded(settings: Settings | None, seed: int | None) -> Settings:
    chosen = settings or Settings()
    return chosen if seed is None else replace(chosen, seed=seed)


def _check(folder: Path, events: int, form: str, files: int) -> None:
    if form not in FORMATS:
        raise SettingError(f"there is no format '{form}'\nhelp: {', '.join(FORMATS)}")
    if events < 1 or files < 1:
        raise SettingError(f"{events} events in {files} files cannot be written\nhelp: write one at least")
    if folder.exists() and not folder.is_dir():
        raise SettingError(f"{folder} is a file, not a folder")
    if folder.exists() and any(folder.iterdir()):
        raise SettingError(f"{folder} is there already\nhelp: remove it, or name another folder")


def _write_rows(rows: pa.Table, file: Path, age: int) -> None:
    match file.suffix:
        case ".parquet":
            repeated = [name for name in rows.column_names if name in _REPEATED]
            # Most of a file is random text: to compress it saves 7 percent. To provide for NULL takes time too. Without
            # both, numbers are read three times as fast.
            there = pa.schema([field.with_nullable(False) for field in rows.schema])
            pq.write_table(rows.cast(there), file, use_dictionary=repeated, compression="none")
        case ".csv":
            _with_time_texts(rows).write_csv(file, quote_style="necessary")
        case _:
            _with_time_texts(rows).write_ndjson(file)
    os.utime(file, (_OLDEST + age, _OLDEST + age))  # Spark takes files by age


def _with_time_texts(rows: pa.Table) -> pl.DataFrame:
    """The rows with times as text in UTC, to the millisecond: both formats have no times of their own."""
    frame = pl.DataFrame(pl.from_arrow(rows))
    return frame.with_columns(pl.col(pl.Datetime("us", "UTC")).dt.strftime(_TIME_TEXT))
