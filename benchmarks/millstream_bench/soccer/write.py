"""A match as a folder: its readings, the tables beside them, and the truth about what was played."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypedDict, Unpack

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from millstream.errors import SettingError
from millstream_bench.data.aside import write_aside
from millstream_bench.soccer.clock import FIRST, PICOS
from millstream_bench.soccer.readings import COLUMNS, MOST_DISORDER, SCHEMA, Readings
from millstream_bench.soccer.referee import referee_file
from millstream_bench.soccer.script import Script, script
from millstream_bench.soccer.sensors import sensor_table
from millstream_bench.soccer.truth import play_table, span_table, truth_tables

Format = Literal["parquet", "csv"]
FORMATS: Final = ("parquet", "csv")
FILE_SECONDS: Final = 20.0
CHUNK_SECONDS: Final = 20.0
_PICOS_A_SECOND: Final = PICOS * 1_000_000
_NEWEST: Final = 1e9


@dataclass(frozen=True)
class Settings:
    """What a match is made from; equal settings give equal events."""

    minutes: float = 10.0
    seed: int = 1
    format: Format = "parquet"
    disorder: int = 0
    files: int | None = None

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise SettingError(f"there is no format '{self.format}'\nhelp: one of {', '.join(FORMATS)}")
        if self.seed < 0:
            raise SettingError(f"a seed of {self.seed} cannot be used\nhelp: 0 or more")
        if not 0 <= self.disorder <= MOST_DISORDER:
            raise SettingError(f"a disorder of {self.disorder} ms cannot be made\nhelp: 0 to {MOST_DISORDER} ms")
        if self.files is not None and self.files < 1:
            raise SettingError(f"the events do not fit into {self.files} files\nhelp: 1 or more")

    @property
    def name(self) -> str:
        """A name for a folder."""
        files = "" if self.files is None else f"-{self.files}-files"
        return f"match-{self.minutes:g}-minutes-seed-{self.seed}-{self.disorder}-ms-{self.format}{files}"


class Choices(TypedDict, total=False):
    """The settings as arguments."""

    minutes: float
    seed: int
    format: Format
    disorder: int
    files: int | None


Tell = Callable[[int, float], None]
"""Is told the number of events so far, and which share of the match they are."""


def match(root: Path, **settings: Unpack[Choices]) -> Path:
    """The folder of a match below `root`, made now if it is not there yet; see `Settings`."""
    folder = root / Settings(**settings).name
    if not (folder / "match.json").exists():
        write_match(folder, **settings)
    return folder


def write_match(
    folder: Path, *, chunk_seconds: float = CHUNK_SECONDS, tell: Tell | None = None, **settings: Unpack[Choices]
) -> dict[str, Any]:
    """Play a match and write it; the answer is what goes into match.json.

    The readings are made in chunks of some seconds, so that memory stays bounded. What is cut off leaves nothing.
    """
    chosen = Settings(**settings)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingError(f"{folder} exists and is not empty\nhelp: name a new folder, or delete this one")
    played = script(chosen.seed, chosen.minutes)
    with write_aside(folder) as staging:
        (staging / "events").mkdir(parents=True)
        readings = Readings(played, seed=chosen.seed, disorder=chosen.disorder)
        counts = _write_events(staging / "events", readings, chosen, chunk_seconds, tell)
        _write_tables(staging, played)
        facts = _facts(chosen, played, counts)
        (staging / "match.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return facts


def _write_events(
    folder: Path, readings: Readings, chosen: Settings, chunk_seconds: float, tell: Tell | None
) -> list[int]:
    span = readings.ends - FIRST
    files = chosen.files or math.ceil(span / _PICOS_A_SECOND / FILE_SECONDS)
    bounds = [FIRST + span * i // files for i in range(files + 1)]
    chunk = max(1, round(chunk_seconds * _PICOS_A_SECOND))
    counts: list[int] = []
    for number in range(files):
        file = folder / f"part-{number:05d}.{chosen.format}"
        count = 0
        with _writer(file, chosen.format) as write:
            for begins in range(bounds[number], bounds[number + 1], chunk):
                ends = min(begins + chunk, bounds[number + 1])
                rows = readings.between(begins, ends)
                write(rows)
                count += rows.num_rows
                if tell:
                    tell(sum(counts) + count, (ends - FIRST) / span)
        os.utime(file, (_NEWEST + number, _NEWEST + number))  # Spark takes files by age
        counts.append(count)
    return counts


@contextlib.contextmanager
def _writer(file: Path, kind: Format) -> Iterator[Callable[[pa.Table], None]]:
    if kind == "parquet":
        # Dictionaries of numbers that hardly repeat take half of the time, and do not make a file smaller; Snappy takes
        # three times as long to read as LZ4, and does not either. Without compression a file has twice the size, and
        # what that saves is lost on the way from the disk.
        with pq.ParquetWriter(file, SCHEMA, use_dictionary=["sid"], compression="lz4") as parquet:
            yield parquet.write_table
    else:
        fields = pa.schema([SCHEMA.field(name) for name in COLUMNS])
        layout = csv.WriteOptions(include_header=False)
        with csv.CSVWriter(file, fields, write_options=layout) as text:
            yield lambda rows: text.write_table(rows.select(COLUMNS))


def _write_tables(folder: Path, played: Script) -> None:
    for name, table in (("sensors", sensor_table()), ("play", play_table(played))):
        pq.write_table(table, folder / f"{name}.parquet")
        csv.write_csv(table, folder / f"{name}.csv", csv.WriteOptions(quoting_header="none"))
    pq.write_table(span_table(played.interruptions), folder / "interruptions.parquet")
    pq.write_table(span_table(played.clock.halves), folder / "halves.parquet")
    for half in played.clock.halves:
        (folder / f"game-interruption-{half.half}.csv").write_bytes(referee_file(half, played.interruptions))
    (folder / "truth").mkdir()
    for name, table in truth_tables(played).items():
        pq.write_table(table, folder / "truth" / f"{name}.parquet")


def _facts(chosen: Settings, played: Script, counts: list[int]) -> dict[str, Any]:
    return {
        **asdict(chosen),
        "files": len(counts),
        "events": sum(counts),
        "events_by_file": counts,
        "begins_ps": FIRST,
        "ends_ps": played.clock.ends * PICOS,
        "halves_us": [[h.begins, h.ends] for h in played.clock.halves],
        "interruptions": len(played.interruptions),
        "hits": len(played.hits),
        "shots": len(played.shots),
        "shots_on_goal": sum(s.on_goal for s in played.shots),
    }
