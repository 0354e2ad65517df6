"""Two streams to be joined, and what their join must give."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from millstream_bench.data.aside import write_aside
from millstream_bench.data.rows import tick_rows, write_parts

SIDES = ("a", "b")
FILE_ROWS = 50_000
FEWEST_FILES = 20


def streams(root: Path, *, rows: int, keys: int, seed: int, disorder: int, rate: int) -> Path:
    """The folder with a folder for each side, of so many rows (ts, k, v) as in `ticks`.

    From a million rows on, more rows are more files, so that a batch of some files does not grow.
    """
    files = max(FEWEST_FILES, -(-rows // FILE_ROWS))
    folder = root / f"pairs-{rows}-rows-{keys}-keys-{rate}-a-second-{disorder}-ms-{files}-files-seed-{seed}"
    if folder.exists():
        return folder
    with write_aside(folder) as staging:
        for side, name in enumerate(SIDES):

            def make(first: int, last: int, seed: int = len(SIDES) * seed + side) -> pa.Table:
                return _whole_milliseconds(tick_rows(first, last, keys=keys, seed=seed, disorder=disorder, rate=rate))

            (staging / name).mkdir(parents=True)
            write_parts(staging / name, rows, files, make)
    return folder


def _whole_milliseconds(rows: pa.Table) -> pa.Table:
    """The rows with times that every engine can tell apart: Flink compares row times by the millisecond."""
    return rows.set_column(0, "ts", pc.floor_temporal(rows["ts"], unit="millisecond"))


def expected(folder: Path, low: int, high: int) -> dict[str, float]:
    """What `sums` must give for the join of both sides, `low` seconds back and `high` seconds on; kept in the folder.

    Each `a` finds its partners by two searches in the sorted `b`: no pair is ever made, so this is quick at any size.
    """
    kept = folder / f"expected-{low}-{high}.json"
    if kept.exists():
        found: dict[str, float] = json.loads(kept.read_text(encoding="utf-8"))
        return found
    a, b = (pq.read_table(folder / side) for side in SIDES)
    (a_time, a_key, a_value), (b_time, b_key, b_value) = _arrays(a), _arrays(b)
    back, on = low * 1_000_000, high * 1_000_000
    start = min(a_time.min(), b_time.min())
    # Key and time in one number. Each key has room for the bounds besides, so that none reaches into the next one.
    width = max(a_time.max(), b_time.max()) - start + back + on + 1
    places = b_key * width + (b_time - start + back)
    order = np.argsort(places)
    places = places[order]
    nearest = a_key * width + (a_time - start)
    first = np.searchsorted(places, nearest, side="left")
    end = np.searchsorted(places, nearest + back + on, side="right")
    partners = end - first
    totals = np.concatenate(([0.0], np.cumsum(b_value[order])))
    result = {
        "rows": int(partners.sum()),
        "k": int((partners * a_key).sum()),
        "v": float((partners * a_value).sum()),
        "w": float((totals[end] - totals[first]).sum()),
    }
    with write_aside(kept) as staged:
        staged.write_text(json.dumps(result), encoding="utf-8")
    return result


def _arrays(rows: pa.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (rows["ts"].cast(pa.int64()).to_numpy(), rows["k"].cast(pa.int64()).to_numpy(), rows["v"].to_numpy())


def sums(folder: Path) -> dict[str, float]:
    """The number of the pairs (k, v, w) that an engine has kept in a folder, and the sums of their columns."""
    found = {"rows": 0.0, "k": 0.0, "v": 0.0, "w": 0.0}
    for file in sorted(folder.glob("[!._]*.parquet")):
        rows = pq.read_table(file, columns=["k", "v", "w"])
        found["rows"] += rows.num_rows
        for name in ("k", "v", "w"):
            found[name] += pc.sum(rows[name]).as_py() or 0
    return found
