"""The generator of the auction house, beside a slow transcription of its rules in plain Python."""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from millstream.errors import SettingError
from millstream.mill import Mill
from millstream_bench.commands import generate_nexmark
from millstream_bench.nexmark.events import AT_ONCE, AUCTION, BID, PERSON, TIME, events
from millstream_bench.nexmark.folder import FORMATS, KINDS, auctions, write
from millstream_bench.nexmark.settings import Settings

ODD = Settings(
    seed=7, person_proportion=2, auction_proportion=3, bid_proportion=6, rate=333, group=9, active_people=20,
    auctions_in_flight=15, person_lead=2, auction_lead=3, first_person=5, first_auction=70, first_category=3,
    categories=2, base_time=datetime(2020, 2, 29, 23, 59, 59, tzinfo=UTC),
)  # fmt: skip
LARGE = 200_000


@pytest.fixture(scope="module")
def large() -> tuple[pa.Table, pa.Table, pa.Table]:
    return events(0, LARGE, Settings())


# -- the rules once more, one event at a time ------------------------------------------------------------------


def kind(k: int, s: Settings) -> str:
    r = k % s.total
    if r < s.person_proportion:
        return "person"
    return "auction" if r < s.person_proportion + s.auction_proportion else "bid"


def last_person(k: int, s: Settings) -> int:
    e, r = divmod(k, s.total)
    return e * s.person_proportion + min(r, s.person_proportion - 1)


def last_auction(k: int, s: Settings) -> int:
    e, r = divmod(k, s.total)
    if kind(k, s) == "auction":
        return e * s.auction_proportion + r - s.person_proportion
    return e * s.auction_proportion + s.auction_proportion - 1


def time_of(k: int, s: Settings) -> datetime:
    delay = Fraction(1_000_000, s.rate)
    return s.base_time + timedelta(milliseconds=math.floor(k * delay / 1000))


def arriving(first: int, last: int, s: Settings) -> list[int]:
    return [(k // s.group) * s.group + (953 * k) % s.group for k in range(first, last)]


def mixed(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def draw(seed: int, k: int, number: int) -> int:
    golden = 0x9E3779B97F4A7C15
    event = mixed((mixed((seed + golden) % 2**64) + k * golden) % 2**64)
    return mixed((event + number * golden) % 2**64)


def of_kind(name: str, first: int, last: int, s: Settings) -> list[int]:
    return [k for k in arriving(first, last, s) if kind(k, s) == name]


RANGES = [(Settings(), 0, 3000), (Settings(), 10**12 + 17, 10**12 + 1017), (ODD, 0, 3000), (ODD, 12_345, 13_000)]


@pytest.mark.parametrize(("settings", "first", "last"), RANGES)
def test_kinds_ids_and_times_follow_the_rules(settings: Settings, first: int, last: int) -> None:
    people, made_auctions, bids = events(first, last, settings)
    numbers = {name: of_kind(name, first, last, settings) for name in KINDS}
    assert people["id"].to_pylist() == [settings.first_person + last_person(k, settings) for k in numbers["person"]]
    assert made_auctions["id"].to_pylist() == [
        settings.first_auction + last_auction(k, settings) for k in numbers["auction"]
    ]
    for name, rows in zip(KINDS, (people, made_auctions, bids), strict=True):
        assert rows["dateTime"].to_pylist() == [time_of(k, settings) for k in numbers[name]]


@pytest.mark.parametrize(("settings", "first", "last"), RANGES)
def test_those_who_take_part_are_within_reach(settings: Settings, first: int, last: int) -> None:
    def fits_person(chosen: int, k: int, hot: int) -> bool:
        n = last_person(k, settings) + 1
        a = min(n, settings.active_people)
        return chosen == hot or n - a <= chosen < n + settings.person_lead

    def fits_auction(chosen: int, k: int) -> bool:
        top = last_auction(k, settings)
        low = max(top - settings.auctions_in_flight, 0)
        return chosen == top // 100 * 100 or low <= chosen <= top + settings.auction_lead

    _, made_auctions, bids = events(first, last, settings)
    for k, seller in zip(of_kind("auction", first, last, settings), made_auctions["seller"].to_pylist(), strict=True):
        assert fits_person(seller - settings.first_person, k, last_person(k, settings) // 100 * 100)
    for k, bid in zip(of_kind("bid", first, last, settings), bids.to_pylist(), strict=True):
        assert fits_auction(bid["auction"] - settings.first_auction, k)
        assert fits_person(bid["bidder"] - settings.first_person, k, last_person(k, settings) // 100 * 100 + 1)


@pytest.mark.parametrize("settings", [Settings(), ODD, Settings(seed=2**63 - 1)])
def test_draws_are_a_hash_of_seed_event_and_draw(settings: Settings) -> None:
    _, _, bids = events(0, 500, settings)
    for k, price in zip(of_kind("bid", 0, 500, settings), bids["price"].to_pylist(), strict=True):
        u = (draw(settings.seed, k, 6) >> 11) * 2.0**-53
        assert abs(price - (100 * 10 ** (6 * u))) <= 0.5 + 1e-6


# -- any range by itself ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [Settings(), ODD, Settings(group=1000)])
@pytest.mark.parametrize("cuts", [(0, 1, 2, 55, 70_000), (0, 33_333, AT_ONCE, AT_ONCE + 1, 70_000)])
def test_ranges_made_alone_equal_slices_of_the_whole(settings: Settings, cuts: tuple[int, ...]) -> None:
    whole = events(0, cuts[-1], settings)
    parts = [events(first, last, settings) for first, last in pairwise(cuts)]
    for number, rows in enumerate(whole):
        assert pa.concat_tables([part[number] for part in parts]).equals(rows)


def test_an_empty_range_has_the_columns() -> None:
    people, made_auctions, bids = events(5, 5, Settings())
    assert (people.schema, made_auctions.schema, bids.schema) == (PERSON, AUCTION, BID)
    assert people.num_rows == made_auctions.num_rows == bids.num_rows == 0


def test_the_seed_decides() -> None:
    assert events(0, 500, Settings(seed=3))[2].equals(events(0, 500, Settings(seed=3))[2])
    one, other = events(0, 500, Settings(seed=3))[2], events(0, 500, Settings(seed=4))[2]
    assert pc.mean(pc.equal(one["price"], other["price"])).as_py() < 0.01
    assert not one["url"].equals(other["url"])
    assert one["dateTime"].equals(other["dateTime"])


def test_data_of_a_seed_never_change() -> None:
    bids = events(0, 7, Settings())[2].select(["auction", "bidder", "price", "channel", "url"])
    assert bids.slice(0, 2).to_pylist() == [
        {
            "auction": 1000,
            "bidder": 1001,
            "price": 39855984,
            "channel": "channel-2870",
            "url": "https://www.nexmark.com/uom/tex/f_o/item.htm?query=1&channel_id=1825570816",
        },
        {
            "auction": 1006,
            "bidder": 1001,
            "price": 7391,
            "channel": "Google",
            "url": "https://www.nexmark.com/yo_n/yzb/m__p/item.htm?query=1",
        },
    ]


@pytest.mark.parametrize("group", [2, 9, 1000])
def test_a_group_gives_the_same_events_in_another_order(group: int) -> None:
    one, other = events(0, 18_000, Settings()), events(0, 18_000, Settings(group=group))
    for ordered, shuffled in zip(one, other, strict=True):
        keys = [(name, "ascending") for name in ordered.column_names]
        assert shuffled.sort_by(keys).equals(ordered.sort_by(keys))
    # 953 is odd: of two events both keep their places
    assert one[2].equals(other[2]) == (group == 2)


# -- distributions ---------------------------------------------------------------------------------------------


def near(found: float, chance: float, trials: int) -> bool:
    """Within five standard deviations."""
    return abs(found - chance * trials) <= 5 * math.sqrt(trials * chance * (1 - chance))


def uniform(values: np.ndarray, choices: int) -> bool:
    counts = np.unique(values, return_counts=True)[1]
    return len(counts) == choices and all(near(count, 1 / choices, len(values)) for count in counts)


def test_proportions(large: tuple[pa.Table, ...]) -> None:
    assert [rows.num_rows for rows in large] == [LARGE // 50, LARGE * 3 // 50, LARGE * 46 // 50]
    assert [rows.num_rows for rows in events(0, 53, Settings())] == [2, 5, 46]


def test_hot_ones(large: tuple[pa.Table, ...]) -> None:
    _, made_auctions, bids = large
    auction_numbers, bid_numbers = (np.array(of_kind(name, 0, LARGE, Settings())) for name in ("auction", "bid"))
    # A hot one may also be met by chance, if it is still active: one in 1010 people, one in 111 auctions.
    hot = made_auctions["seller"].to_numpy() == 1000 + auction_numbers // 50 // 100 * 100
    assert near(hot.sum(), 3 / 4 + 1 / 4 / 1010, len(hot))
    hot = bids["bidder"].to_numpy() == 1001 + bid_numbers // 50 // 100 * 100
    assert near(hot.sum(), 3 / 4 + 1 / 4 / 1010, len(hot))
    hot = bids["auction"].to_numpy() == 1000 + (bid_numbers // 50 * 3 + 2) // 100 * 100
    assert near(hot.sum(), 1 / 2 + 1 / 2 / 111, len(hot))
    hot = pc.is_in(bids["channel"], pa.array(["Google", "Facebook", "Baidu", "Apple"])).to_numpy()
    assert near(hot.sum(), 1 / 2, len(hot))
    assert uniform(bids["channel"].to_numpy()[hot], 4)


def test_the_others_are_picked_evenly(large: tuple[pa.Table, ...]) -> None:
    bids, numbers = large[2], np.array(of_kind("bid", 0, LARGE, Settings()))
    last = numbers // 50 * 3 + 2
    back = last + 1000 - bids["auction"].to_numpy()
    picked = (last >= 100) & (bids["auction"].to_numpy() != 1000 + last // 100 * 100)
    assert back[picked].min() == -10
    assert back[picked].max() == 100
    assert all(abs(np.bincount(back[picked] + 10, minlength=111) / picked.sum() * 111 - 1) < 0.2)


def test_prices_are_even_by_their_logarithm(large: tuple[pa.Table, ...]) -> None:
    prices = large[2]["price"].to_numpy()
    assert prices.min() >= 100
    assert prices.max() <= 100_000_000
    assert uniform(np.minimum((np.log10(prices) - 2).astype(int), 5), 6)
    first, reserve = large[1]["initialBid"].to_numpy(), large[1]["reserve"].to_numpy()
    assert (reserve - first).min() >= 100
    assert uniform(np.minimum((np.log10(reserve - first) - 2).astype(int), 5), 6)


def test_choices_are_even(large: tuple[pa.Table, ...]) -> None:
    people, made_auctions, _ = large
    assert uniform(people["city"].to_numpy(), 10)
    assert uniform(people["state"].to_numpy(), 6)
    assert uniform(people["name"].to_numpy(), 99)
    assert uniform(made_auctions["category"].to_numpy(), 5)
    assert set(made_auctions["category"].to_pylist()) == {10, 11, 12, 13, 14}
    # states do not hang on cities
    assert uniform(pc.binary_join_element_wise(people["city"], people["state"], "/").to_numpy(), 60)


def test_lives_of_auctions(large: tuple[pa.Table, ...]) -> None:
    made_auctions = large[1]
    lives = made_auctions["expires"].cast(pa.int64()).to_numpy() - made_auctions["dateTime"].cast(pa.int64()).to_numpy()
    # 100 auctions take 1666 events, which are 166 ms, or 167 by the time the first one opens
    assert lives.min() == 1000
    assert 332_000 <= lives.max() <= 334_000
    assert abs(lives.mean() - 167_000) < 5 * 96_000 / math.sqrt(len(lives))
    assert set(lives % 1000) == {0}


def test_auctions_live_a_millisecond_at_least_if_all_is_at_once() -> None:
    made_auctions = events(0, 5000, Settings(rate=10**9))[1]
    assert pc.all(pc.greater(made_auctions["expires"], made_auctions["dateTime"])).as_py()


# -- texts -----------------------------------------------------------------------------------------------------


def lengths(rows: pa.Table, *columns: str) -> np.ndarray:
    return sum((pc.binary_length(rows[column]).to_numpy() for column in columns), np.zeros(rows.num_rows, int))


def all_match(values: pa.ChunkedArray, pattern: str) -> bool:
    return all(re.fullmatch(pattern, value) for value in values.to_pylist())


def test_people_have_texts_of_their_kinds(large: tuple[pa.Table, ...]) -> None:
    people = large[0]
    word = "[a-z]([a-z ]{0,%d}[a-z])?"
    assert all_match(people["emailAddress"], f"{word % 4}@{word % 2}\\.com")
    assert all_match(people["creditCard"], r"\d{4}( \d{4}){3}")
    assert set(people["city"].to_pylist()) == {
        "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne"
    }  # fmt: skip
    assert set(people["state"].to_pylist()) == {"AZ", "CA", "ID", "OR", "WA", "WY"}
    assert {"Peter Shultz", "Walter Noris"} <= set(people["name"].to_pylist())
    assert all_match(people["extra"], "[a-z]+")


def test_auctions_have_texts_of_their_kinds(large: tuple[pa.Table, ...]) -> None:
    made_auctions = large[1]
    assert all_match(made_auctions["itemName"], "[a-z]([a-z ]{0,17}[a-z])?")
    assert all_match(made_auctions["description"], "[a-z]([a-z ]{0,97}[a-z])?")
    assert all_match(made_auctions["extra"], "[a-z]+")
    # 3 to 99 characters are 51 on average, less two times one in 12 for blanks at the ends
    assert abs(lengths(made_auctions, "description").mean() - (51 - 2 / 12)) < 5 * 28 / math.sqrt(
        made_auctions.num_rows
    )
    assert lengths(made_auctions, "itemName").max() == 19
    assert lengths(made_auctions, "description").max() == 99


def test_letters_and_blanks_have_their_chances(large: tuple[pa.Table, ...]) -> None:
    extras = np.frombuffer("".join(large[2]["extra"].to_pylist()).encode(), np.uint8)
    assert uniform(extras, 26)
    inner = np.frombuffer("".join(text[1:-1] for text in large[1]["description"].to_pylist()).encode(), np.uint8)
    # Trimming ends a text sooner, but only where blanks are: those that are left over are fewer by little.
    assert abs((inner == ord(" ")).mean() - 1 / 13) < 0.003
    assert uniform(inner[inner != ord(" ")], 26)


def test_sizes_are_within_a_fifth_of_the_average(large: tuple[pa.Table, ...]) -> None:
    people, made_auctions, bids = large
    person_sizes = 8 + lengths(people, "name", "emailAddress", "creditCard", "city", "state", "extra")
    auction_sizes = 48 + lengths(made_auctions, "itemName", "description", "extra")
    bid_sizes = 32 + lengths(bids, "extra")
    for sizes, average in ((person_sizes, 200), (auction_sizes, 500), (bid_sizes, 100)):
        assert average * 0.8 <= sizes.min()
        assert sizes.max() <= average * 1.2
        assert abs(sizes.mean() - average) < average * 0.01
        assert sizes.max() - sizes.min() > average * 0.2


def test_records_that_are_large_enough_have_no_extra() -> None:
    small = events(0, 500, Settings(person_size=0, auction_size=60, bid_size=32))
    assert [set(rows["extra"].to_pylist()) for rows in (small[0], small[2])] == [{""}, {""}]
    assert "" in small[1]["extra"].to_pylist()
    large_bids = events(0, 500, Settings(bid_size=10_000))[2]
    assert 32 + lengths(large_bids, "extra").max() > 11_000


def test_channels_and_urls(large: tuple[pa.Table, ...]) -> None:
    pairs = large[2].select(["channel", "url"]).group_by(["channel", "url"]).aggregate([]).to_pylist()
    urls = {pair["channel"]: pair["url"] for pair in pairs}
    assert len(urls) == len(pairs), "a channel keeps its URL"
    assert len(urls) > 9_990
    tagged = 0
    for channel, url in urls.items():
        found = re.fullmatch(
            r"https://www\.nexmark\.com/[a-z_]{3,4}/[a-z_]{3,4}/[a-z_]{3,4}/item\.htm\?query=1(?:&channel_id=(\d+))?",
            url,
        )
        assert found, url
        if channel in {"Google", "Facebook", "Baidu", "Apple"}:
            assert found[1] is None
        elif found[1] is not None:
            bits = int(f"{int(channel.removeprefix('channel-')):032b}"[::-1], 2)
            assert int(found[1]) == abs(bits - 2**32 if bits >= 2**31 else bits)
            tagged += 1
    assert near(tagged, 0.9, len(urls) - 4)
    assert any("_" in url for url in urls.values())


# -- settings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rate": 0}, "rate is 0, and must be a whole number from 1"),
        ({"seed": -1}, "seed is -1"),
        ({"person_proportion": 0}, "person_proportion is 0"),
        ({"rate": 1.5}, "rate is 1.5"),
        ({"group": 953 * 2}, "a multiple of 953 cannot be shuffled"),
        ({"base_time": datetime(2020, 1, 1)}, "has no time zone"),
        ({"base_time": datetime(2020, 1, 1, 0, 0, 0, 1, tzinfo=UTC)}, "not a whole millisecond"),
    ],
)
def test_settings_that_cannot_be(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Settings(**wrong)  # type: ignore[arg-type]


def test_no_bids_at_all() -> None:
    assert [rows.num_rows for rows in events(0, 400, Settings(bid_proportion=0))] == [100, 300, 0]


# -- folders ---------------------------------------------------------------------------------------------------


def in_duckdb(files: Path, form: str, schema: pa.Schema) -> pa.Table:
    """What DuckDB reads: it is told the types, and an empty field in quotes is a text."""
    names = {pa.int64(): "BIGINT", pa.string(): "VARCHAR", TIME: "TIMESTAMP"}
    columns = "{" + ", ".join(f"'{field.name}': '{names[field.type]}'" for field in schema) + "}"
    source = {
        "parquet": f"read_parquet('{files}/*.parquet')",
        "csv": f"read_csv('{files}/*.csv', header = true, columns = {columns}, allow_quoted_nulls = false)",
        "json": f"read_json('{files}/*.json', format = 'newline_delimited', columns = {columns})",
    }[form]
    rows = duckdb.sql(f"SELECT * FROM {source}").to_arrow_table()
    arrays = [
        pc.assume_timezone(column, "UTC") if pa.types.is_timestamp(column.type) and not column.type.tz else column
        for column in rows.columns
    ]
    return pa.table(arrays, names=rows.column_names).cast(schema)


@pytest.mark.parametrize("settings", [Settings(), Settings(bid_size=0, person_size=80, group=5)])
@pytest.mark.parametrize("form", FORMATS)
def test_all_formats_hold_the_rows(tmp_path: Path, form: str, settings: Settings) -> None:
    counts = write(tmp_path / "x", events=5000, format=form, files=3, settings=settings)
    assert counts == {"person": 100, "auction": 300, "bid": 4600}
    for name, rows in zip(KINDS, events(0, 5000, settings), strict=True):
        assert in_duckdb(tmp_path / "x" / name, form, rows.schema).equals(rows)
    side = in_duckdb(tmp_path / "x" / "side", form, pa.schema([("key", pa.int64()), ("value", pa.string())]))
    assert side.to_pylist() == [{"key": i, "value": str(i)} for i in range(10_000)]


def test_text_of_csv_and_json(tmp_path: Path) -> None:
    write(tmp_path / "csv", events=100, format="csv", files=1, settings=Settings(bid_size=0))
    lines = (tmp_path / "csv" / "bid" / "part-00000.csv").read_text().splitlines()
    assert lines[0] == "auction,bidder,price,channel,url,dateTime,extra"
    assert re.fullmatch(r'\d+,\d+,\d+,[\w-]+,https://[^,"]+,2015-07-15 00:00:00\.000,""', lines[1])
    assert lines[-1].split(",")[5] == "2015-07-15 00:00:00.009"
    write(tmp_path / "json", events=100, format="json", files=1)
    first = json.loads((tmp_path / "json" / "auction" / "part-00000.json").read_text().splitlines()[0])
    assert list(first) == AUCTION.names
    assert first["dateTime"] == "2015-07-15 00:00:00.000"


def test_the_folder_is_laid_out_as_agreed(tmp_path: Path) -> None:
    settings = Settings(seed=5, rate=500)
    write(tmp_path / "x", events=1003, files=4, settings=settings)
    assert sorted(path.name for path in (tmp_path / "x").iterdir()) == [
        "auction", "bid", "nexmark.json", "person", "side"
    ]  # fmt: skip
    assert [path.name for path in (tmp_path / "x" / "side").iterdir()] == ["side.parquet"]
    for kind_number, name in enumerate(KINDS):
        files = sorted((tmp_path / "x" / name).iterdir())
        assert [file.name for file in files] == [f"part-{n:05d}.parquet" for n in range(4)]
        ages = [file.stat().st_mtime for file in files]
        assert ages == sorted(set(ages))
        for n, file in enumerate(files):
            expected = events(1003 * n // 4, 1003 * (n + 1) // 4, settings)[kind_number]
            assert pq.read_table(file).cast(expected.schema).equals(expected)
    about = json.loads((tmp_path / "x" / "nexmark.json").read_text())
    assert about["events"] == 1003
    assert about["counts"] == {"person": 21, "auction": 62, "bid": 920}
    assert about["settings"]["rate"] == 500
    assert about["settings"]["base_time"] == "2015-07-15T00:00:00.000Z"


def test_more_files_than_events(tmp_path: Path) -> None:
    assert write(tmp_path / "x", events=3, files=5) == {"person": 1, "auction": 2, "bid": 0}
    assert len(list((tmp_path / "x" / "bid").iterdir())) == 5


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    folder = auctions(tmp_path, events=100, seed=3, files=2, settings=Settings(rate=77, group=5))
    assert folder.name == "nexmark-100-events-2-parquet-files-seed-3-rate-77-group-5"
    stamp = (folder / "nexmark.json").stat().st_mtime_ns
    assert auctions(tmp_path, events=100, seed=3, files=2, settings=Settings(rate=77, group=5)) == folder
    assert (folder / "nexmark.json").stat().st_mtime_ns == stamp
    others = [
        auctions(tmp_path, events=100, seed=3, files=2),
        auctions(tmp_path, events=100, files=2),
        auctions(tmp_path, events=100, files=2, format="csv"),
        auctions(tmp_path, events=100, files=2, settings=Settings(base_time=datetime(2020, 1, 1, tzinfo=UTC))),
    ]
    assert len({folder, *others}) == 5
    assert sorted(tmp_path.iterdir()) == sorted([folder, *others]), "nothing else is left behind"


def test_a_run_that_is_cut_off_leaves_nothing(tmp_path: Path) -> None:
    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "x", events=100, files=2, progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SettingError, match="full is there already\nhelp: remove it"):
        write(tmp_path / "full", events=10)
    with pytest.raises(SettingError, match="is a file, not a folder"):
        write(tmp_path / "file", events=10)
    with pytest.raises(SettingError, match=r"cannot write .*below: Not a directory"):
        write(tmp_path / "file" / "below", events=10)
    with pytest.raises(SettingError, match="there is no format 'xml'\nhelp: parquet, csv, json"):
        write(tmp_path / "x", events=10, format="xml")
    with pytest.raises(SettingError, match="0 events"):
        write(tmp_path / "x", events=0)
    write(tmp_path / "empty", events=10, files=1)
    assert (tmp_path / "empty" / "nexmark.json").exists()


@pytest.mark.spark
def test_streams_read_all_formats(tmp_path: Path, run: Callable[[str], Mill]) -> None:
    script = []
    for form in FORMATS:
        write(tmp_path / form, events=500, format=form, files=2)
        script.append(f"""
            CREATE STREAM {form}_auction (id BIGINT, itemName STRING, description STRING, initialBid BIGINT,
                reserve BIGINT, dateTime TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING)
                SOURCE '{form}:{form}/auction';
            CREATE SINK {form}_out TO 'parquet:{form}_out';
            INSERT INTO {form}_out SELECT * FROM {form}_auction;
        """)
    run("\n".join(script))
    expected = events(0, 500, Settings())[1]
    for form in FORMATS:
        rows = pq.read_table(sorted((tmp_path / f"{form}_out").glob("[!._]*.parquet")))
        assert rows.select(AUCTION.names).cast(AUCTION).sort_by("id").equals(expected), form


# -- the command -----------------------------------------------------------------------------------------------


def generate(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    generate_nexmark.add_arguments(parser.add_subparsers(required=True))
    parsed = parser.parse_args(["nexmark", *map(str, arguments)])
    return int(parsed.command(parsed))


def test_the_command_tells_the_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate(tmp_path / "x", "--events", "1_000", "--seed", 9, "--rate", 100, "--group", 3, "--files", 2) == 0
    told = capsys.readouterr()
    assert re.fullmatch(
        r".*/x: 20 people, 60 auctions, 920 bids; 1,000 events in \d+\.\d s, [\d,]+ events/s\n", told.out
    )
    assert "1,000 of 1,000 events" in told.err
    expected = events(0, 1000, Settings(seed=9, rate=100, group=3))[2]
    assert pq.read_table(tmp_path / "x" / "bid").cast(expected.schema).equals(expected)


def test_the_command_speaks_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate(tmp_path / "x", "--events", 50, "--files", 1, "--format", "json", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["events"], told["person"], told["auction"], told["bid"]) == (50, 1, 3, 46)
    assert told["events_per_second"] > 0


def test_the_command_refuses_what_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        generate(tmp_path / "x", "--events", "none")
    assert "'none' is not a whole number of at least 1" in capsys.readouterr().err
    with pytest.raises(SettingError, match="953"):
        generate(tmp_path / "x", "--events", 10, "--group", 953)
    assert list(tmp_path.iterdir()) == []
