"""The generated match: its readings agree with themselves, and with the truth that goes beside them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from millstream.errors import SettingError
from millstream_bench.soccer import field, paths
from millstream_bench.soccer.clock import FIRST, MICROS, PICOS, Span, clock, play
from millstream_bench.soccer.field import GRAVITY, attacked
from millstream_bench.soccer.readings import COLUMNS, SCHEMA, Readings
from millstream_bench.soccer.running import INTENSITIES
from millstream_bench.soccer.script import script
from millstream_bench.soccer.sensors import BALLS, PLAYERS, SENSORS, WORN, sensor_table
from millstream_bench.soccer.truth import play_table, running_table, stretches
from millstream_bench.soccer.write import match, write_match

pytestmark = pytest.mark.slow

SEED = 13
HIT = 55e6
SECOND = PICOS * MICROS


@dataclass(frozen=True)
class Played:
    """A match as someone meets it who has nothing but its folder."""

    folder: Path

    @cached_property
    def events(self) -> dict[str, np.ndarray]:
        rows = pq.read_table(sorted((self.folder / "events").iterdir()))
        return {name: rows[name].to_numpy() for name in COLUMNS}

    def truth(self, name: str) -> pa.Table:
        return pq.read_table(self.folder / "truth" / f"{name}.parquet")

    def table(self, name: str) -> pa.Table:
        return pq.read_table(self.folder / f"{name}.parquet")

    @cached_property
    def by_sensor(self) -> dict[int, dict[str, np.ndarray]]:
        order = np.argsort(self.events["sid"], kind="stable")
        sids, first = np.unique(self.events["sid"][order], return_index=True)
        rows = dict(zip(sids.tolist(), np.split(order, first[1:]), strict=True))
        return {sid: {name: values[own] for name, values in self.events.items()} for sid, own in rows.items()}

    def of(self, sid: int) -> dict[str, np.ndarray]:
        return self.by_sensor[sid]

    @cached_property
    def balls(self) -> dict[str, np.ndarray]:
        """What balls read inside the field in play."""
        events = self.events
        rows = np.flatnonzero(np.isin(events["sid"], BALLS) & inside(events) & self.playing(events["ts"]))
        return {name: values[rows] for name, values in events.items()}

    def playing(self, ts: np.ndarray) -> np.ndarray:
        """By the table of play, as queries do it: the second is looked up, then the bounds are."""
        rows = self.table("play")
        time = ts // PICOS
        found = np.zeros(len(ts), dtype=bool)
        for second, begins, ends in zip(
            rows["second"].to_numpy(), micros(rows["begins"]), micros(rows["ends"]), strict=True
        ):
            low, high = np.searchsorted(time, (max(second * MICROS, begins), min((second + 1) * MICROS, ends)))
            assert not found[low:high].any()
            found[low:high] = True
        return found

    def distances(self, ts: np.ndarray, places: np.ndarray) -> np.ndarray:
        """How far the nearest sensor of each player is (player, time), in metres, by its last reading before."""
        found = np.full((len(PLAYERS), len(ts)), np.inf)
        for player, worn in enumerate(WORN.values()):
            for sid in worn:
                own = self.of(sid)
                last = np.searchsorted(own["ts"], ts, side="right") - 1
                away = np.linalg.norm(metres(own)[last] - places, axis=1)
                found[player] = np.minimum(found[player], away)
        return found


def inside(events: dict[str, np.ndarray]) -> np.ndarray:
    x, y = events["x"], events["y"]
    return (x >= 0) & (x <= 52_483) & (y >= -33_960) & (y <= 33_965)


def metres(events: dict[str, np.ndarray]) -> np.ndarray:
    return np.column_stack([events[axis] for axis in "xyz"]) / 1e3


def velocity(events: dict[str, np.ndarray]) -> np.ndarray:
    return np.column_stack([events[f"v{axis}"] for axis in "xyz"]) * (events["v"] * 1e-10)[:, None]


def micros(times: pa.ChunkedArray) -> np.ndarray:
    return times.cast(pa.int64()).to_numpy()


def detected_hits(played: Played) -> tuple[np.ndarray, np.ndarray]:
    """Times and players of hits, found by the rule of the challenge; a second hit within 0.2 s is the same."""
    balls = played.balls
    hot = np.flatnonzero(balls["a"] >= HIT)
    near = played.distances(balls["ts"][hot], metres(balls)[hot])
    close = near.min(axis=0) <= 1.0
    times, players = balls["ts"][hot][close], near.argmin(axis=0)[close]
    fresh = np.diff(times, prepend=-SECOND) > 0.2 * SECOND
    return times[fresh], players[fresh]


def in_mouth(goal: field.Goal, place: np.ndarray, speed: np.ndarray, *, wider: float, gravity: bool) -> np.ndarray:
    """Whether balls that go straight on cross the mouth of the goal within 1.5 s."""
    time, x, z = field.crossing(goal, place, speed)
    z = z - GRAVITY * np.minimum(time, 1.5) ** 2 / 2 * gravity
    return (time < 1.5) & (x > goal.left - wider) & (x < goal.right + wider) & (z < goal.bar + wider)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("soccer") / "match"
    write_match(folder, minutes=1, seed=SEED)
    return Played(folder)


def test_the_schema_and_the_order(played: Played) -> None:
    files = sorted((played.folder / "events").iterdir())
    assert [f.name for f in files] == [f"part-{i:05d}.parquet" for i in range(len(files))]
    assert sorted(files, key=lambda f: f.stat().st_mtime) == files
    assert all(pq.read_schema(f).equals(SCHEMA) for f in files)
    assert played.events["ts"][0] == FIRST
    assert (np.diff(played.events["ts"]) >= 0).all()
    time = micros(pq.read_table(files[0])["time"])
    assert (time == pq.read_table(files[0])["ts"].to_numpy() // PICOS).all()


def test_each_sensor_sends_at_its_own_rate(played: Played) -> None:
    periods = set()
    for sensor in SENSORS:
        gaps = np.diff(played.of(sensor.sid)["ts"])
        assert (gaps == sensor.period).all()
        periods.add(sensor.period)
        low, high = {"player": (4.57, 4.97), "referee": (5.0, 5.2), "ball": (0.48, 0.53)}[sensor.kind]
        assert low <= sensor.period / 1e9 <= high
    assert len(periods) == len(SENSORS)
    assert {0.488, 0.512, 0.528} < {s.period / 1e9 for s in SENSORS if s.kind == "ball"}
    # The fourth ball belongs to the second half.
    assert played.of(12)["ts"][0] // PICOS >= micros(played.table("halves")["ends"])[0]


def test_velocities_are_the_derivatives_of_places(played: Played) -> None:
    for sid in (13, 97, 47, 74, 105, 4, 12):
        own = played.of(sid)
        for v in ("v", "a"):
            norm = np.linalg.norm(np.column_stack([own[f"{v}{axis}"] for axis in "xyz"]), axis=1)
            assert np.abs(norm - 10_000).max() < 2
        # Over so many readings that the rounding to millimetres does not matter.
        step = 40 if sid in BALLS else 4
        place, speed, ts = metres(own), velocity(own), own["ts"] / 1e12
        moved = (place[step:] - place[:-step]) / (ts[step:] - ts[:-step])[:, None]
        summed = np.cumsum(speed, axis=0)
        inner = summed[step - 1 : -1] - np.vstack((np.zeros(3), summed[: -step - 1]))
        mean = (inner + (speed[step:] - speed[:-step]) / 2) / step  # the trapezoid rule
        assert np.abs(moved - mean).max() < 0.12


def test_accelerations_are_the_derivatives_of_velocities(played: Played) -> None:
    own = played.of(59)
    gain = np.column_stack([own[f"a{axis}"] for axis in "xyz"]) * (own["a"] * 1e-10)[:, None]
    change = np.diff(velocity(own), axis=0) / (np.diff(own["ts"]) / 1e12)[:, None]
    assert np.abs(change - (gain[1:] + gain[:-1]) / 2).max() < 1.0


def test_the_feet_are_around_the_centre(played: Played) -> None:
    knots = script(SEED, 1).knots
    left, right = played.of(WORN["B7"][0]), played.of(WORN["B7"][1])
    last = np.searchsorted(right["ts"], left["ts"][1:], side="right") - 1
    middle = (metres(left)[1:] + metres(right)[last]) / 2
    centre = paths.centres(knots, (left["ts"][1:] - FIRST // PICOS * PICOS) / 1e12)[PLAYERS.index("B7")]
    assert np.linalg.norm(middle[:, :2] - centre, axis=1).max() < 0.05


def test_every_hit_can_be_seen_and_nothing_else_looks_like_one(played: Played) -> None:
    truth = played.truth("hits")
    times, players = detected_hits(played)
    assert len(truth) > 15
    assert [PLAYERS[p] for p in players] == truth["player_id"].to_pylist()
    late = times // PICOS - micros(truth["time"])
    assert late.min() >= 0
    assert late.max() < 1000
    assert np.diff(times).min() > 0.25 * SECOND


def test_hits_are_clear(played: Played) -> None:
    balls, truth = played.balls, played.truth("hits")
    for time, player in zip(micros(truth["time"]), truth["player_id"].to_pylist(), strict=True):
        low, high = np.searchsorted(balls["ts"], (time * PICOS + PICOS, (time + 9_000) * PICOS))
        assert balls["a"][low:high].min() > 100e6
        near = played.distances(balls["ts"][low:high], metres(balls)[low:high])
        own = PLAYERS.index(player)
        assert near[own].max() < 0.5
        assert np.delete(near, own, axis=0).min() > 1.5
    # Elsewhere a ball is either far from everyone, at a bounce, or its acceleration is small.
    hits = micros(truth["time"])
    since = balls["ts"] // PICOS - hits[np.maximum(np.searchsorted(hits, balls["ts"] // PICOS, side="right") - 1, 0)]
    other = np.flatnonzero((since > 10_500) & (balls["a"] > 45e6))
    if len(other):
        assert played.distances(balls["ts"][other], metres(balls)[other]).min() > 3.0


def test_only_one_ball_is_inside_the_field(played: Played) -> None:
    balls = played.balls
    order = np.argsort(balls["ts"] // (SECOND // 100), kind="stable")
    hundredth, sid = (balls["ts"] // (SECOND // 100))[order], balls["sid"][order]
    changes = np.flatnonzero(np.diff(sid))
    assert (np.diff(hundredth)[changes] > 100).all()


def test_shots_and_only_shots_point_at_the_goal(played: Played) -> None:
    balls, hits, shots = played.balls, played.truth("hits"), played.truth("shots")
    assert {True, False} == set(shots["on_goal"].to_pylist())
    kicked = dict(zip(micros(shots["time"]), shots["on_goal"].to_pylist(), strict=True))
    ended = dict(zip(micros(shots["time"]), micros(shots["ends"]), strict=True))
    half_time = micros(played.table("halves")["ends"])[0]
    starts = micros(hits["time"])
    last = micros(played.table("halves")["ends"])[1]
    for time, following, team in zip(starts, [*starts[1:], last], hits["team"].to_pylist(), strict=True):
        on_goal = kicked.get(time, False)
        low, high = np.searchsorted(balls["ts"], (time * PICOS, ended.get(time, following) * PICOS))
        flight = {name: values[low:high] for name, values in balls.items()}
        place = metres(flight)
        gone = np.linalg.norm(place - place[0], axis=1) >= 1.0
        if not gone.any():
            continue
        first = int(np.argmax(gone))
        place, speed = place[first:], velocity(flight)[first:]
        own_goal = attacked("B" if team == "A" else "A", 1 if time < half_time else 2)
        goal = attacked(team, 1 if time < half_time else 2)
        for gravity in (False, True):
            if on_goal:
                before = np.abs(place[:, 1]) < abs(goal.y)  # the field goes on a few millimetres behind the line
                assert in_mouth(goal, place, speed, wider=-0.5, gravity=gravity)[before].all()
            else:
                assert not in_mouth(goal, place, speed, wider=3.0, gravity=gravity).any()
                assert not in_mouth(own_goal, place, speed, wider=3.0, gravity=gravity).any()


def test_a_shot_ends_with_a_hit_or_behind_the_line(played: Played) -> None:
    hits = set(micros(played.truth("hits")["time"]))
    balls = {sid: played.of(sid) for sid in BALLS}
    shots = micros(played.truth("shots")["ends"])
    assert 0 < len(hits & set(shots)) < len(shots)
    for ends in shots:
        if ends in hits:
            continue
        left = False
        for own in balls.values():
            low, high = np.searchsorted(own["ts"], ((ends - 2000) * PICOS, (ends + 2000) * PICOS))
            near = inside({name: values[low:high] for name, values in own.items()})
            left = left or bool(len(near) and near[0] and not near[-1])
        assert left


def test_holders_follow_from_hits_and_the_ends_of_play(played: Played) -> None:
    hits, holders = played.truth("hits"), played.truth("holders")
    begins, ends, names = micros(holders["begins"]), micros(holders["ends"]), holders["player_id"].to_pylist()
    assert (ends > begins).all()
    assert (begins[1:] >= ends[:-1]).all()
    for time, player in zip(micros(hits["time"]), hits["player_id"].to_pylist(), strict=True):
        held = int(np.searchsorted(begins, time, side="right")) - 1
        assert names[held] == player
        assert time < ends[held]
    bounds = {s.ends for s in stretches(script(SEED, 1))}
    for end, following in zip(ends, [*begins[1:], 0], strict=True):
        if end == following or end in bounds:
            continue
        # What is left: the ball leaves the field, shortly before play is stopped.
        assert min(b - end for b in bounds if b > end) < MICROS


def test_play_is_what_interruptions_leave(played: Played) -> None:
    halves, stops = played.table("halves"), played.table("interruptions")
    assert len(stops) > 0
    total = pc.sum(pc.subtract(micros(halves["ends"]), micros(halves["begins"]))).as_py()
    stopped = pc.sum(pc.subtract(micros(stops["ends"]), micros(stops["begins"]))).as_py()
    rows = played.table("play")
    low = np.maximum(micros(rows["begins"]), rows["second"].to_numpy() * MICROS)
    high = np.minimum(micros(rows["ends"]), (rows["second"].to_numpy() + 1) * MICROS)
    assert (high > low).all()
    assert (high - low).sum() == total - stopped
    inside_halves = rows.filter(pc.equal(rows["half"], 2))["begins"].to_pylist()
    assert min(inside_halves) >= halves["begins"].to_pylist()[1]


def test_the_referee_writes_the_same_interruptions(played: Played) -> None:
    stops, halves = played.table("interruptions").to_pylist(), played.table("halves").to_pylist()
    for half, (begin, end) in ((1, ("2010", "2011")), (2, ("6014", "6015"))):
        raw = (played.folder / f"game-interruption-{half}.csv").read_bytes()
        assert raw.count(b"\n") == raw.count(b"\r\n")
        rows = [line.split(";") for line in raw.decode("iso-8859-1").splitlines()]
        rows = [row for row in rows if len(row) == 5][1:]
        start, last = halves[half - 1]["begins"], halves[half - 1]["ends"]
        expected = []
        for stop in (s for s in stops if s["half"] == half):
            expected.append((begin, (stop["begins"] - start).total_seconds()))
            if stop["ends"] < last:
                expected.append((end, (stop["ends"] - start).total_seconds()))
        written = []
        for number, _, text, _, _ in rows:
            hours, minutes, seconds = text.split(":")
            written.append((number, int(hours) * 3600 + int(minutes) * 60 + float(seconds)))
        assert [n for n, _ in written] == [n for n, _ in expected]
        assert [t for _, t in written] == pytest.approx([t for _, t in expected], abs=1e-6)


def test_distances_are_those_of_the_readings(played: Played) -> None:
    truth = played.truth("running")
    seconds = np.unique(truth["second"].to_numpy())[1:-1]
    measured = run = 0.0
    for player, worn in list(WORN.items())[:6]:
        feet = [played.of(sid) for sid in worn[:2]]
        ends = []
        for foot in feet:
            first = np.searchsorted(foot["ts"], seconds * SECOND)
            last = np.searchsorted(foot["ts"], (seconds + 1) * SECOND) - 1
            ends.append((metres(foot)[first], metres(foot)[last]))
        moved = ((ends[0][1] + ends[1][1]) - (ends[0][0] + ends[1][0]))[:, :2] / 2
        measured += np.linalg.norm(moved, axis=1).sum()
        own = truth.filter(pc.and_(pc.equal(truth["player_id"], player), pc.is_in(truth["second"], pa.array(seconds))))
        run += pc.sum(own["distance"]).as_py()
        assert own["speed"].to_numpy() == pytest.approx(own["distance"].to_numpy() * 3.6)
    # The time between the last reading of a second and the first of the next one is most of the difference.
    assert measured == pytest.approx(run, rel=0.0052)


def test_players_run_in_all_classes_and_hold_them() -> None:
    played = script(2, 20)
    truth = running_table(played)
    field_players = pc.invert(pc.is_in(truth["player_id"], pa.array(["A1", "B1"])))
    for player in set(truth.filter(field_players)["player_id"].to_pylist()):
        own = truth.filter(pc.equal(truth["player_id"], player))
        assert set(own["intensity"].to_pylist()) == set(INTENSITIES)
    begins, ends = played.clock.halves[0].seconds
    times = np.arange(begins, ends, 0.02)
    fast = paths.speeds(played.knots, times)[: len(PLAYERS)] * 3.6
    classes = np.searchsorted((1, 11, 14, 17, 24), fast, side="right")
    lengths = np.concatenate([np.diff(np.flatnonzero(np.diff(row, prepend=-1))) * 0.02 for row in classes])
    assert lengths[lengths >= 1].sum() / lengths.sum() > 0.75
    assert (lengths < 1).sum() > 100
    assert lengths.max() > 5
    where = paths.centres(played.knots, times)[: len(PLAYERS)]
    assert where[..., 0].min() > 1
    assert where[..., 0].max() < 51
    assert np.abs(where[..., 1]).max() < 33
    # Keepers are before their own goals.
    assert where[0, :, 1].mean() < -20
    assert where[8, :, 1].mean() > 20


def test_a_full_match_has_the_times_of_the_real_one() -> None:
    full = clock(60)
    assert full.halves[0] == Span(1, 10753295594424116 // PICOS, 12557295594424116 // PICOS)
    assert full.halves[1] == Span(2, 13086639146403495 // PICOS, 14879639146403495 // PICOS)
    assert full.ends == 14893948418670216 // PICOS


def test_long_plays_keep_their_promises() -> None:
    played = script(3, 30)
    hits = np.array([h.time for h in played.hits])
    assert np.diff(hits).min() > 0.25 * MICROS
    holders = [h.player for h in played.holdings]
    assert len(played.hits) > 1.3 * len(holders)  # some touches are dribbles
    assert sum(s.on_goal for s in played.shots) > 10
    assert sum(not s.on_goal for s in played.shots) > 10
    saved = {s.ends for s in played.shots} & set(hits.tolist())
    assert saved
    assert len(played.interruptions) > 30
    spans = play(played.clock.halves, played.interruptions)
    for hit in hits:
        assert any(s.begins <= hit < s.ends for s in spans)
    for pieces in played.balls:
        assert (np.diff(pieces[:, 0]) >= 0).all()
        assert pieces[:, 3].min() > 0
        # Each piece begins where the last one ended, and as fast.
        lasts = np.diff(pieces[:, 0])[:, None]
        end = pieces[:-1, 1:4] + pieces[:-1, 4:7] * lasts + pieces[:-1, 7:10] * lasts**2 / 2
        assert np.abs(end - pieces[1:, 1:4]).max() < 2e-3
        assert np.abs(pieces[:-1, 4:7] + pieces[:-1, 7:10] * lasts - pieces[1:, 4:7]).max() < 0.6


def test_the_same_seed_gives_the_same_events_however_they_are_cut() -> None:
    for disorder in (0, 300):
        readings = Readings(script(7, 0.2), seed=7, disorder=disorder)
        again = Readings(script(7, 0.2), seed=7, disorder=disorder)
        stop = FIRST + 5 * SECOND
        whole = readings.between(FIRST, stop)
        cuts = [FIRST, FIRST + 1, FIRST + SECOND // 7, FIRST + 2 * SECOND + 13, stop]
        parts = pa.concat_tables([again.between(a, b) for a, b in pairwise(cuts)])
        assert parts.equals(whole)
    assert not Readings(script(8, 0.2)).between(FIRST, stop)["x"].equals(whole["x"])


def test_disorder_is_bounded_and_loses_nothing(tmp_path: Path) -> None:
    tidy = write_match(tmp_path / "tidy", minutes=0.1, seed=1)
    mixed = write_match(tmp_path / "mixed", minutes=0.1, seed=1, disorder=200, files=3)
    assert tidy["events"] == mixed["events"]
    assert mixed["files"] == 3
    order = [("ts", "ascending"), ("sid", "ascending")]
    a, b = (pq.read_table(tmp_path / name / "events") for name in ("tidy", "mixed"))
    assert a.sort_by(order).equals(b.sort_by(order))
    ts = np.concatenate([pq.read_table(f)["ts"].to_numpy() for f in sorted((tmp_path / "mixed/events").iterdir())])
    behind = np.maximum.accumulate(ts) - ts
    assert 0.1 * SECOND < behind.max() <= 0.2 * SECOND


def test_csv_equals_parquet(tmp_path: Path) -> None:
    write_match(tmp_path / "p", minutes=0.1, seed=2, chunk_seconds=3)
    write_match(tmp_path / "c", minutes=0.1, seed=2, format="csv")
    parquet = pq.read_table(tmp_path / "p" / "events").select(COLUMNS)
    for number, file in enumerate(sorted((tmp_path / "c" / "events").iterdir())):
        assert file.name == f"part-{number:05d}.csv"
    read = csv.ReadOptions(column_names=COLUMNS)
    types = csv.ConvertOptions(column_types={name: SCHEMA.field(name).type for name in COLUMNS})
    text = pa.concat_tables(
        csv.read_csv(f, read, convert_options=types) for f in sorted((tmp_path / "c/events").iterdir())
    )
    assert text.cast(parquet.schema).equals(parquet)


def test_the_tables_beside_the_events(played: Played) -> None:
    assert played.table("sensors").equals(sensor_table())
    assert len(played.table("sensors")) == 42
    for name in ("sensors", "play"):
        first = (played.folder / f"{name}.csv").read_text().splitlines()[0]
        assert first == ",".join(played.table(name).column_names)
    assert played.table("play").equals(play_table(script(SEED, 1)))
    facts = json.loads((played.folder / "match.json").read_text())
    assert facts["events"] == len(played.events["ts"])
    assert facts["seed"] == SEED
    assert not [p for p in played.folder.parent.iterdir() if p.name.startswith(".")]


def test_a_match_is_made_once(tmp_path: Path) -> None:
    folder = match(tmp_path, minutes=0.05, seed=3)
    before = (folder / "match.json").stat().st_mtime_ns
    assert match(tmp_path, minutes=0.05, seed=3) == folder
    assert (folder / "match.json").stat().st_mtime_ns == before
    assert match(tmp_path, minutes=0.05, seed=3, format="csv") != folder


def test_what_cannot_be_made_says_why(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(SettingError, match="exists and is not empty"):
        write_match(tmp_path / "full")
    for settings, text in (
        ({"minutes": 0}, "0 minutes cannot be played"),
        ({"minutes": -3}, "-3 minutes"),
        ({"minutes": float("nan")}, "nan minutes"),
        ({"format": "xml"}, "no format 'xml'"),
        ({"disorder": -1}, "disorder of -1 ms"),
        ({"files": 0}, "0 files"),
        ({"seed": -1}, "seed of -1"),
    ):
        with pytest.raises(SettingError, match=text):
            write_match(tmp_path / "new", **settings)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["full"]
