"""Calcite's own cases of window assignment, by the definitions and by the vectorised forms."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from millstream.windows import Paned, Session, Sliding, Tuple, tumbling

CASES = Path(__file__).resolve().parents[3] / "shared" / "external" / "calcite_tvf"
NAMES = [f"{n:02}_{'tumble' if n < 8 else 'hop' if n < 14 else 'session'}" for n in range(1, 21)]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

pytestmark = pytest.mark.skipif(
    not CASES.is_dir(), reason="Calcite's cases, ../shared/external/calcite_tvf, are not there"
)

Row = dict[str, str]


def rows(path: Path) -> list[Row]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def micros(text: str) -> int:
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


def interval(text: str) -> int:
    """'10 minute' or '20:10.525 minute to second' in microseconds."""
    number, unit = text.split(" ", 1)
    if unit == "minute to second":
        minutes, seconds = number.split(":")
        length = timedelta(minutes=int(minutes), seconds=float(seconds))
    else:
        length = timedelta(**{f"{unit}s": int(number)})
    return length // timedelta(microseconds=1)


def params(text: str) -> dict[str, str]:
    """'slide 5 minute; size 10 minute' by name; 'no key' has no key."""
    named = (part.partition(" ") for part in text.split("; ") if part != "no key")
    return {name: value for name, _, value in named}


def window(case: Row) -> Paned | Session:
    given = params(case["params"])
    lengths = {name: interval(value) for name, value in given.items() if name != "key"}
    match case["window"]:
        case "TUMBLE":
            return tumbling(lengths["size"], lengths.get("offset", 0))
        case "HOP":
            return Sliding(lengths["size"], lengths["slide"], lengths.get("offset", 0))
        case _:
            return Session(lengths["gap"])


def tuples(case: Row) -> list[Tuple]:
    """The rows that have a time, as tuples; the first case adds a time column of its own."""
    shift = timedelta(seconds=float(found[1])) if (found := re.search(r"\+ ([\d.]+) s", case["note"])) else timedelta()
    key = params(case["params"]).get("key")
    timed = [row for row in rows(CASES / case["input"]) if next(iter(row.values())) != r"\N"]
    return [
        Tuple(
            micros(next(iter(row.values()))) + shift // timedelta(microseconds=1),
            number,
            row[key] if key else None,
            tuple(row.values()),
        )
        for number, row in enumerate(timed, 1)
    ]


Assigned = tuple[object, int, int]


def by_definition(kind: Paned | Session, given: list[Tuple]) -> list[Assigned]:
    if isinstance(kind, Session):
        bounds = [(w, kind.bounds(w, given)) for w in kind.windows(given)]
        return [(t.value, *ends) for w, ends in bounds for t in kind.extent(w, given)]
    return [(t.value, *kind.bounds(w)) for w in kind.windows(given) for t in kind.extent(w, given)]


def vectorised(kind: Paned | Session, given: list[Tuple]) -> list[Assigned]:
    times = np.array([t.time for t in given], dtype=np.int64)
    if isinstance(kind, Session):
        starts, ends = kind.assign(times, np.array([str(t.key) for t in given]))
        return [(t.value, int(s), int(e)) for t, s, e in zip(given, starts, ends, strict=True)]
    return [(given[p].value, *kind.bounds(int(w))) for p, w in zip(*kind.assign(times), strict=True)]


def expected(name: str, width: int) -> list[Assigned]:
    found = rows(CASES / "expected" / f"{name}.csv")
    return [(tuple(r.values())[:width], micros(r["window_start"]), micros(r["window_end"])) for r in found]


@pytest.mark.parametrize("name", NAMES)
def test_windows_are_assigned_as_in_calcite(name: str) -> None:
    case = next(row for row in rows(CASES / "cases.csv") if row["id"] == name)
    kind, given = window(case), tuples(case)
    wanted = sorted(expected(name, len(rows(CASES / case["input"])[0])))
    assert len(wanted) == int(case["expected_rows"])
    assert sorted(by_definition(kind, given)) == wanted
    assert sorted(vectorised(kind, given)) == wanted


def test_every_case_is_run() -> None:
    assert [row["id"] for row in rows(CASES / "cases.csv")] == NAMES
