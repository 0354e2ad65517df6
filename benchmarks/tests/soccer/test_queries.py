"""The four queries over a short match: what they find is what was played, and what DuckDB finds."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import UserAggregate
from millstream.language.binder import bind
from millstream.language.parser import statements
from millstream.language.trial.dry_run import dry_run
from millstream.mill import Mill
from millstream.udas.kernels.kernel import kernel_of
from millstream_bench.soccer.aggregates import EVENT, GRIDS, BallLog, Heat
from millstream_bench.soccer.queries import NAMES, script
from millstream_bench.soccer.results import check
from millstream_bench.soccer.rules import Rules
from millstream_bench.soccer.write import match

SECOND = 1_000_000


def bound(text: str) -> Catalog:
    catalog = Catalog()
    for statement in statements(text):
        dry_run(bind(statement, catalog), catalog)
    return catalog


@pytest.mark.parametrize("queries", [q for n in range(1, 5) for q in combinations(NAMES, n)])
def test_every_choice_of_queries_binds(queries: tuple[str, ...]) -> None:
    bound(script("it's here", "out", queries=queries))


def test_an_unknown_query_is_refused() -> None:
    with pytest.raises(ValueError, match="no query 'q5'"):
        script("match", "out", queries=("q5",))


def test_what_runs_in_the_order_of_time_is_compiled() -> None:
    bodies = {a.name: a.body for a in bound(script("match", None)).all(UserAggregate)}
    assert bodies.keys() == {"lasting", "followed"}
    assert all(kernel_of(body) is not None for body in bodies.values())


@pytest.mark.spark
def test_what_is_found_is_what_was_played(mill: Mill, tmp_path: Path) -> None:
    folder = match(tmp_path, minutes=0.5, seed=6, disorder=20)
    mill.execute(script(folder, tmp_path / "out"))
    mill.wait()
    findings = check(folder, tmp_path / "out")
    assert [f for f in findings if not f.ok] == []
    assert len(findings) > 60
    shots = pq.read_table(tmp_path / "out" / "shots")
    assert shots.column_names == ["ts", "player_id", "x", "y", "z", "v", "vx", "vy", "vz", "a", "ax", "ay", "az"]
    assert set(shots["player_id"].to_pylist()) == {"B7", "B8"}
    totals = pq.read_table(tmp_path / "out" / "running_totals")
    assert set(totals["minutes"].to_pylist()) == {0, 1, 5, 20}
    assert all(query.counts.late == dict.fromkeys(query.counts.late, 0) for query in mill.queries)


def ball_rows(log: BallLog, parts: list[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
    """The rows of one group whose readings come in some parts."""
    total = log.zero_batch(1)
    for times, numbers, places, events in parts:
        columns = [pa.array(column, pa.int32()) for column in (numbers, *zip(*places, strict=True))]
        arguments = [*columns, pa.array(events, pa.list_(pa.int64()))]
        part = log.reduce_batch(log.zero_batch(1), np.zeros(len(times), int), arguments, np.array(times))
        total = log.merge_batch(total, part)
    return log.finish_batch(total)


def test_the_nearest_player_around_a_hit_is_found_in_any_order() -> None:
    hit, roll = [0] * EVENT, [0] * EVENT
    hit[10] = 5000
    readings = [
        (SECOND + 100, 13, (0, 400, 0), None),
        (SECOND + 4000, 47, (300, 0, 0), None),
        (SECOND + 9000, 49, (1, 0, 0), None),  # nearer, and too late
        (SECOND + 2000, 0, (0, 0, 0), hit),
        (SECOND + 2500, 0, (7, 0, 0), roll),
        (SECOND + 3000, -1, (0, 0, 0), None),
    ]
    whole = [tuple(zip(*readings, strict=True))]
    single = [tuple(zip(reading, strict=True)) for reading in reversed(readings)]
    for parts in (whole, single):
        ((first, second, last),) = ball_rows(BallLog(), parts)
        assert first[:6] == (SECOND + 2000, 0, 0, 0, 47, 300.0)
        assert second[:5] == (SECOND + 2500, 7, 0, 0, 0)
        assert list(first[6]) == hit
        assert last == (2 * SECOND - 1, *[None] * 6)


@pytest.mark.parametrize("size", [600, 20_000])  # of many, the old ones are summed up
def test_heat_maps_are_the_same_however_readings_are_cut(size: int) -> None:
    rng = np.random.default_rng(3)
    heat = Heat()
    times = np.sort(rng.integers(0, 400, size)) * SECOND
    x, y = rng.integers(0, 64, size), rng.integers(0, 100, size)
    rows = y * 13 // 100
    columns = [(x * 100 + y) * 13 + rows, np.ones(size, int), *(np.full(size, m) for m in (1, 2, 3))]
    groups = rng.integers(0, 2, size)
    whole = heat.reduce_batch(heat.zero_batch(2), groups, columns, times)
    parts = heat.zero_batch(2)
    for cut in np.array_split(rng.permutation(size), 7):
        part = heat.reduce_batch(heat.zero_batch(2), groups[cut], [c[cut] for c in columns], times[cut])
        parts = heat.merge_batch(parts, part)
    answers = zip(heat.finish_batch(whole).to_pylist(), heat.finish_batch(parts).to_pylist(), strict=True)
    for player, (maps, others) in enumerate(answers):
        own = groups == player
        newest = times[own].max() // SECOND
        assert len(maps) == len(others) == 16
        for map_, other in zip(maps, others, strict=True):
            assert map_ == other
            told, across, along, minutes, total, cells, counts = map_.values()
            assert told == newest
            inside = own & ((times // SECOND > newest - 60 * minutes) | (minutes == 0))
            down = rows if along == 13 else y * along // 100
            wanted = np.bincount((x * across // 64 * along + down)[inside], minlength=across * along)
            assert (across, along) in GRIDS
            assert np.array_equal(np.flatnonzero(wanted), cells)
            assert np.array_equal(wanted[cells], counts)
            assert total == inside.sum()


def test_rules_reach_the_script() -> None:
    text = script("match", "out", Rules(window_2_minutes=7, shot_seconds=2.25, off_field_counts=0))
    assert "RANGE 419 SECONDS PRECEDING" in text
    assert "2.25e0" in text
    assert "$" not in text
