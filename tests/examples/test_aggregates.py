"""The aggregates of the examples against brute force: each one by itself, and all queries together on Spark."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import pytest

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import UserAggregate
from millstream.language.binder import bind
from millstream.language.bound import Define, Start
from millstream.language.parser import statements
from millstream.language.trial.dry_run import dry_run
from millstream.mill import connect
from millstream.udas.generated.compiled import Compiled, compile_aggregate
from millstream.udas.generated.states import WindowState

FOLDER = Path(__file__).parents[2] / "examples" / "aggregates"
SECOND = 1_000_000
MINUTE = 60 * SECOND
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Row = dict[str, Any]
Answers = list[tuple[Any, ...]]
Arguments = Callable[[Row], tuple[Any, ...]]


# -- scripts and data --------------------------------------------------------------------------------------


@dataclass
class Script:
    """What a script defines and starts, and the warnings that it gets."""

    aggregates: dict[str, Compiled]
    queries: list[str]
    warnings: list[str]


@cache
def script(name: str) -> Script:
    catalog, made = Catalog(), Script({}, [], [])
    for statement in statements((FOLDER / f"{name}.esl").read_text()):
        bound = bind(statement, catalog)
        dry_run(bound, catalog)
        if isinstance(bound, Define):
            made.warnings += [warning.splitlines()[0] for warning in bound.warnings]
            if isinstance(bound.definition, UserAggregate):
                made.aggregates[bound.definition.name] = compile_aggregate(bound.definition.body)
        elif isinstance(bound, Start):
            made.queries.append(bound.query.name)
    return made


def micros(time: datetime) -> int:
    return (time - EPOCH) // timedelta(microseconds=1)


@cache
def data(name: str) -> list[Row]:
    """The rows of a file in the order of time; `time` is that of the row, in microseconds."""
    with (FOLDER / "data" / f"{name}.csv").open() as lines:
        rows: list[Row] = [dict(line) for line in csv.DictReader(lines)]
    for row in rows:
        stamp = list(row)[-1]
        row[stamp] = row["time"] = micros(datetime.fromisoformat(row[stamp]).replace(tzinfo=UTC))
        for column in ("item_id", "tag", "tagid", "page", "flow", "bytes", "lost", "seconds"):
            if column in row:
                row[column] = int(row[column])
        for column in ("price", "value"):
            if column in row:
                row[column] = float(row[column])
    assert len({row["time"] for row in rows}) == len(rows) or name == "sensors"
    return sorted(rows, key=lambda row: int(row["time"]))


def groups(rows: Sequence[Row], *columns: str) -> list[list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[c] for c in columns), []).append(row)
    return list(found.values())


# -- aggregates, tuple by tuple ----------------------------------------------------------------------------


def bare(made: Compiled, rows: Sequence[Row], arguments: Arguments) -> Answers:
    """What an aggregate returns on a bare stream."""
    state = made.new()
    return [answer for row in rows for answer in state.add(*arguments(row))]


def ended(made: Compiled, rows: Sequence[Row], arguments: Arguments) -> Answers:
    """What an aggregate returns at the end."""
    state = made.new()
    for row in rows:
        assert state.add(*arguments(row)) == []
    return state.terminate()


def framed(
    made: Compiled, rows: Sequence[Row], arguments: Arguments, size: int, by_time: bool = False
) -> Iterator[tuple[Row, Answers]]:
    """Each tuple, and what a window aggregate returns for it, in a window of so many rows or microseconds."""
    state = made.new()
    assert isinstance(state, WindowState)
    for number, row in enumerate(rows):
        now = row["time"] if by_time else number
        expired, answers = state.arrive(arguments(row), now, now - size if by_time else now - size + 1)
        assert expired == []
        yield row, answers


def expiring(made: Compiled, rows: Sequence[Row], arguments: Arguments, size: int) -> Iterator[tuple[Row, Answers]]:
    """Each tuple that leaves, and what a window aggregate returns for it, with active expiration."""
    state = made.new()
    assert isinstance(state, WindowState)
    by_time = {row["time"]: row for row in rows}

    def expire(now: float) -> Iterator[tuple[Row, Answers]]:
        while (oldest := state.oldest_time) is not None and oldest < now - size:
            yield by_time[oldest], state.expire()

    for row in rows:
        yield from expire(row["time"])
        state.enter(arguments(row), row["time"])
        assert state.add(*arguments(row)) == []
    yield from expire(math.inf)


# -- the average and its relatives -------------------------------------------------------------------------


def price(row: Row) -> tuple[float]:
    return (row["price"],)


def mean(rows: Sequence[Row]) -> float:
    return math.fsum(row["price"] for row in rows) / len(rows)


def tumbles(rows: Sequence[Row], size: int, *columns: str) -> list[list[Row]]:
    return groups([{**row, "start": row["time"] - row["time"] % size} for row in rows], *columns, "start")


def mean_prices() -> tuple[Answers, Answers]:
    parts = tumbles(data("closings"), 30 * SECOND, "category")
    made = script("average").aggregates["mean_of"]
    direct = [(p[0]["category"], p[0]["start"], *answer) for p in parts for answer in ended(made, p, price)]
    return direct, [(p[0]["category"], p[0]["start"], mean(p)) for p in parts]


def decayed_prices() -> tuple[Answers, Answers]:
    rows = data("closings")
    expected = []
    for count in range(1, len(rows) + 1):
        weights = [(1.1 if i else 1.0) * 0.9 ** (count - 1 - i) for i in range(count)]
        expected.append((math.fsum(w * r["price"] for w, r in zip(weights, rows, strict=False)) / count,))
    return bare(script("decayed_average").aggregates["decay_online_avg"], rows, price), expected


def prices_so_far() -> tuple[Answers, Answers]:
    made = script("cumulative_average").aggregates["cum_avg"]
    direct, expected = [], []
    for part in groups(data("closings"), "category"):
        direct += [(part[0]["category"], *answer) for answer in bare(made, part, price)]
        expected += [(part[0]["category"], mean(part[: i + 1])) for i in range(len(part))]
    return direct, expected


def last_five() -> tuple[Answers, Answers]:
    made = script("window_average").aggregates["win_avg"]
    direct, expected = [], []
    for part in groups(data("closings"), "category"):
        direct += [(r["item_id"], r["category"], *a) for r, found in framed(made, part, price, 5) for a in found]
        expected += [(r["item_id"], r["category"], mean(part[max(0, i - 4) : i + 1])) for i, r in enumerate(part)]
    return direct, expected


def last_twenty_by_eight() -> tuple[Answers, Answers]:
    rows = data("closings")
    made = script("window_average").aggregates["win_avg"]
    found = [(r["item_id"], *answer) for r, answers in framed(made, rows, price, 20) for answer in answers]
    expected = [(rows[i]["item_id"], mean(rows[max(0, i - 19) : i + 1])) for i in range(7, len(rows), 8)]
    return found[7::8], expected


def highest() -> tuple[Answers, Answers]:
    rows, span = data("closings"), 20 * SECOND
    made = script("window_max").aggregates["pruned_max"]
    direct = [(r["item_id"], *a) for r, found in framed(made, rows, price, span, by_time=True) for a in found]
    expected = [
        (r["item_id"], max(o["price"] for o in rows if r["time"] - span <= o["time"] <= r["time"])) for r in rows
    ]
    return direct, expected


def highest_of_ten() -> tuple[Answers, Answers]:
    made = script("window_max").aggregates["pruned_max"]
    direct, expected = [], []
    for part in groups(data("closings"), "category"):
        direct += [(r["item_id"], r["category"], *a) for r, found in framed(made, part, price, 10) for a in found]
        expected += [
            (r["item_id"], r["category"], max(o["price"] for o in part[max(0, i - 9) : i + 1]))
            for i, r in enumerate(part)
        ]
    return direct, expected


# -- tags --------------------------------------------------------------------------------------------------


def cartons() -> tuple[Answers, Answers]:
    rows = data("tags")
    made = script("product_grouping").aggregates["packed"]
    direct = [("dock", *answer) for answer in bare(made, rows, lambda r: (r["tag"], r["read_at"]))]
    times = [row["time"] for row in rows]
    gaps = [after for before, after in pairwise(times) if after - before > 2 * SECOND]
    return direct, [("dock", row["tag"], 1 + sum(gap <= row["time"] for gap in gaps)) for row in rows]


def clean() -> tuple[Answers, Answers]:
    rows, span = data("tags"), 2 * SECOND
    made = script("duplicate_readings").aggregates["newly_seen"]
    answers = framed(made, rows, lambda r: (r["tag"],), span, by_time=True)
    direct = [("dock", row["time"], *answer) for row, found in answers for answer in found]
    expected = [
        ("dock", row["time"], row["tag"])
        for row in rows
        if not any(o["tag"] == row["tag"] and row["time"] - span <= o["time"] < row["time"] for o in rows)
    ]
    assert len({row["tag"] for row in rows}) < len(expected) < len(rows)
    return direct, expected


def larceny_in_progress() -> tuple[Answers, Answers]:
    rows, span = data("door"), 5 * SECOND
    made = script("theft_alarm").aggregates["item_alarm"]
    answers = expiring(made, rows, lambda r: (r["tagid"], r["tagtype"], r["tagtime"]), span)
    # The time stamp of an alarm is the first moment at which the item is gone.
    direct = [(row["tagid"], row["time"] + span + 1, *answer) for row, found in answers for answer in found]
    passed = [row["time"] for row in rows if row["tagtype"] == "ap"]
    expected = [
        (row["tagid"], row["time"] + span + 1, "larceny alarm")
        for row in rows
        if row["tagtype"] == "item" and not any(abs(row["time"] - time) <= span for time in passed)
    ]
    assert 3 < len(expected) < len(rows) - len(passed)
    return direct, expected


# -- synopses ----------------------------------------------------------------------------------------------


def cells(page: int) -> list[int]:
    return [page * factor % 10007 % 20 for factor in (7919, 3571, 1299)]


def popular() -> tuple[Answers, Answers]:
    rows = data("requests")
    made = script("frequent_items").aggregates["frequent"]
    answers = framed(made, rows, lambda r: (r["page"],), 50)
    direct = [(row["time"], *answer) for row, found in answers for answer in found]
    expected = []
    for i, row in enumerate(rows):
        window = [cells(other["page"]) for other in rows[max(0, i - 49) : i + 1]]
        count = min(sum(other[k] == own for other in window) for k, own in enumerate(cells(row["page"])))
        if count >= 5:
            expected.append((row["time"], row["page"], count))
    return direct, expected


def draw(flow: int) -> float:
    return (flow * 2654435761 % 2**32 + 1) / (2**32 + 1)


def sampled() -> tuple[Answers, Answers]:
    made = script("priority_sample").aggregates["priority_sample"]
    direct, expected = [], []
    for part in tumbles(data("flows"), MINUTE):
        start = part[0]["start"]
        answers = ended(made, part, lambda r: (r["flow"], r["bytes"], draw(r["flow"])))
        direct += [(start, *answer) for answer in answers]
        ranked = sorted(part, key=lambda r: r["bytes"] / draw(r["flow"]), reverse=True)
        threshold = max((r["bytes"] / draw(r["flow"]) for r in ranked[5:]), default=0.0)
        expected += [(start, r["flow"], r["bytes"], max(float(r["bytes"]), threshold)) for r in ranked[:5]]
    return direct, expected


def histogram(bits: Sequence[int], span: int, most: int) -> Answers:
    """The exponential histogram as its authors describe it, bucket by bucket."""
    buckets: list[tuple[int, int]] = []  # newest time and size, newest first
    answers: Answers = []
    for now, bit in enumerate(bits, start=1):
        buckets = [(newest, size) for newest, size in buckets if newest > now - span]
        if bit:
            buckets.insert(0, (now, 1))
            size = 1
            while len(same := [b for b in buckets if b[1] == size]) > most:
                at = buckets.index(same[-2])
                buckets[at : at + 2] = [(same[-2][0], 2 * size)]
                size *= 2
        total = sum(size for _, size in buckets)
        answers.append((total - buckets[-1][1] // 2 if buckets else 0, len(buckets)))
    return answers


def losses() -> tuple[Answers, Answers]:
    made = script("exponential_histogram").aggregates["recent_ones"]
    direct, expected = [], []
    for part in groups(data("packets"), "link"):
        link = part[0]["link"]
        direct += [(link, *answer) for answer in bare(made, part, lambda r: (r["lost"], 100))]
        expected += [(link, *answer) for answer in histogram([r["lost"] for r in part], 100, 3)]
    return direct, expected


# -- correlated aggregates ---------------------------------------------------------------------------------


def length(row: Row) -> tuple[int]:
    return (row["seconds"],)


def above(rows: Sequence[Row]) -> tuple[float, int]:
    average = sum(row["seconds"] for row in rows) / len(rows)
    return average, sum(row["seconds"] > average for row in rows)


def above_so_far() -> tuple[Answers, Answers]:
    rows, slide = data("calls"), 5 * MINUTE
    made = script("correlated").aggregates["above_average"]
    first, last = rows[0]["time"], rows[-1]["time"]
    ends = range(first - first % slide + slide, last - last % slide + slide + 1, slide)
    parts = {end: [row for row in rows if row["time"] < end] for end in ends}
    direct = [(end, *answer) for end, part in parts.items() for answer in ended(made, part, length)]
    return direct, [(end, *above(part)) for end, part in parts.items()]


def above_by_call() -> tuple[Answers, Answers]:
    made = script("correlated").aggregates["above_average"]
    direct, expected = [], []
    for part in groups(data("calls"), "customer"):
        for i, row in enumerate(part):
            direct += [(row["customer"], row["time"], *a) for a in ended(made, part[: i + 1], length)]
            expected.append((row["customer"], row["time"], *above(part[: i + 1])))
    return direct, expected


def near_so_far() -> tuple[Answers, Answers]:
    made = script("correlated").aggregates["near_longest"]
    direct, expected = [], []
    for part in groups(data("calls"), "customer"):
        customer = part[0]["customer"]
        direct += [(customer, *answer) for answer in bare(made, part, length)]
        for i in range(len(part)):
            lengths = [row["seconds"] for row in part[: i + 1]]
            longest = max(lengths)
            expected.append((customer, longest, sum(2 * x > longest for x in lengths)))
    return direct, expected


# -- gaps --------------------------------------------------------------------------------------------------


def islands(rows: Sequence[Row]) -> Answers:
    """All groups of readings that follow each other within ten seconds, the last one too."""
    begins = [i for i, row in enumerate(rows) if not i or row["time"] - rows[i - 1]["time"] > 10 * SECOND]
    parts = [rows[i:j] for i, j in zip(begins, [*begins[1:], len(rows)], strict=True)]
    return [
        (p[0]["sensor"], p[0]["time"], p[-1]["time"], len(p), math.fsum(r["value"] for r in p) / len(p)) for p in parts
    ]


def reading(row: Row) -> tuple[float, int]:
    return row["value"], row["time"]


def groups_of_sensors() -> tuple[Answers, Answers]:
    made = script("gap_grouping").aggregates["islands"]
    direct, expected = [], []
    for part in groups(data("sensors"), "sensor"):
        direct += [(part[0]["sensor"], *answer) for answer in bare(made, part, reading)]
        expected += islands(part)[:-1]
    return direct, expected


def groups_in_time() -> tuple[Answers, Answers]:
    made = script("gap_grouping").aggregates["closed_islands"]
    direct, expected = [], []
    for part in groups(data("sensors"), "sensor"):
        answers = expiring(made, part, reading, 10 * SECOND)
        direct += [(row["sensor"], *answer) for row, found in answers for answer in found]
        expected += islands(part)
    return direct, expected


EXAMPLES: dict[str, dict[str, Callable[[], tuple[Answers, Answers]]]] = {
    "average": {"mean_prices": mean_prices},
    "decayed_average": {"decayed_prices": decayed_prices},
    "cumulative_average": {"prices_so_far": prices_so_far},
    "window_average": {"last_five": last_five, "last_twenty_by_eight": last_twenty_by_eight},
    "window_max": {"highest": highest, "highest_of_ten": highest_of_ten},
    "product_grouping": {"cartons": cartons},
    "duplicate_readings": {"clean": clean},
    "theft_alarm": {"larceny_in_progress": larceny_in_progress},
    "frequent_items": {"popular": popular},
    "priority_sample": {"sampled": sampled},
    "exponential_histogram": {"losses": losses},
    "correlated": {"above_so_far": above_so_far, "above_by_call": above_by_call, "near_so_far": near_so_far},
    "gap_grouping": {"groups": groups_of_sensors, "groups_in_time": groups_in_time},
}
"""For each script its queries: what its aggregates give, driven by hand, and what brute force gives."""


def difference(found: Answers, expected: Answers) -> Answers:
    """Pairs of rows that differ, in any order of the rows; numbers with a point may differ a little."""
    return [p for p in zip_longest(sorted(found), sorted(expected), fillvalue=()) if not nearly_equal(*p)]


def nearly_equal(row: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    if [type(value) for value in row] != [type(value) for value in other]:
        return False
    return all(math.isclose(a, b) if isinstance(a, float) else a == b for a, b in zip(row, other, strict=True))


# -- tests -------------------------------------------------------------------------------------------------


def test_every_script_is_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.esl")} == set(EXAMPLES)
    assert {name: script(name).queries for name in EXAMPLES} == {n: list(q) for n, q in EXAMPLES.items()}


def test_every_script_is_in_the_readme() -> None:
    text = (FOLDER / "README.md").read_text()
    assert [name for name in EXAMPLES if f"`{name}.esl`" not in text] == []


def test_warnings() -> None:
    said = {name: script(name).warnings for name in EXAMPLES if script(name).warnings}
    grows = "the table 'lengths' only grows: on a stream that does not end its state has no limit"
    assert said == {
        "correlated": [f"warning in CREATE AGGREGATE: {grows}"],
        "theft_alarm": ["warning in CREATE AGGREGATE: the parameter 'tagtime' is never used"],
    }


@pytest.mark.parametrize(("name", "query"), [(name, query) for name, queries in EXAMPLES.items() for query in queries])
def test_aggregates_equal_brute_force(name: str, query: str) -> None:
    direct, expected = EXAMPLES[name][query]()
    assert expected
    assert difference(direct, expected) == []


def test_frequent_items_are_never_counted_too_low() -> None:
    rows = data("requests")
    said = {time: count for time, _, count in popular()[0]}
    too_high = 0
    for i, row in enumerate(rows):
        exact = sum(other["page"] == row["page"] for other in rows[max(0, i - 49) : i + 1])
        assert exact <= said.get(row["time"], 4)
        too_high += exact < said.get(row["time"], 0)
    assert 0 < too_high < len(said) / 10


def test_a_sample_tells_the_total() -> None:
    found = sampled()[0]
    for part in tumbles(data("flows"), MINUTE):
        told = math.fsum(row[-1] for row in found if row[0] == part[0]["start"])
        total = sum(row["bytes"] for row in part)
        assert 0.5 < told / total < 2


@pytest.mark.parametrize("span", [1, 10, 100, 1000])
def test_the_error_of_the_exponential_histogram_is_bounded(span: int) -> None:
    made = script("exponential_histogram").aggregates["recent_ones"]
    bits = [row["lost"] for row in data("packets")]
    answers = bare(made, data("packets"), lambda r: (r["lost"], span))
    assert answers == histogram(bits, span, 3)
    most = 3 * (math.log2(max(1, 2 * span / 4)) + 1) + 1
    for i, (estimate, buckets) in enumerate(answers):
        exact = sum(bits[max(0, i + 1 - span) : i + 1])
        assert abs(estimate - exact) <= exact / 4
        assert buckets <= most


@pytest.mark.spark
def test_the_queries_equal_brute_force(spark: object) -> None:
    with connect(base=FOLDER, once=True, master="local[2]") as mill:
        for name in EXAMPLES:
            mill.execute((FOLDER / f"{name}.esl").read_text())
        mill.wait()
        wrong = {
            query: difference(rows_of(mill.query(query).to_arrow().to_pylist()), known()[1])
            for queries in EXAMPLES.values()
            for query, known in queries.items()
        }
    assert {query: rows for query, rows in wrong.items() if rows} == {}


def rows_of(found: list[Row]) -> Answers:
    return [tuple(micros(v) if isinstance(v, datetime) else v for v in row.values()) for row in found]
