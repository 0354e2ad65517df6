"""Files of cases are read as README.md says, and answers that are wrong are told."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.queries.arrivals import Arrival
from tests.queries.cases import HERE, read_case, share, shared_inputs
from tests.queries.inputs import Input
from tests.queries.oracle import Found, check

TEXT = (HERE / "windows" / "example.esl").read_text()


@pytest.fixture
def changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr("tests.queries.cases.HERE", tmp_path)

    def read(old: str, new: str) -> object:
        assert old in TEXT
        (tmp_path / "x.esl").write_text(TEXT.replace(old, new))
        return read_case(tmp_path / "x.esl")

    return read


def test_the_example_of_the_page_is_a_case() -> None:
    assert f"```\n{TEXT}```" in (HERE / "README.md").read_text()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "-- sorted by: window_end",
            "-- sort by: window_end",
            r"x.esl: 'sort by: window_end' is no option: there are ",
        ),
        ("-- sorted by: window_end", "-- skip stored", "'skip stored' is no option"),
        ("-- sorted by: window_end", "-- skip sideways: it is not a way", "there is no way sideways: there are whole"),
        ("-- sorted by: window_end", "-- input: reading", "there is no input reading: there are"),
        ("-- Tumbling windows: a range without a slide.\n-- sorted by: window_end\n", "", "the first line must say"),
        ("/* rows", "/* row", "there must be one block"),
        ("SELECT k", "SELEKT k", "unknown statement 'SELEKT'"),
    ],
)
def test_mistakes_in_a_file_are_told_with_its_name(changed: object, old: str, new: str, told: str) -> None:
    with pytest.raises(ValueError, match=told) as problem:
        changed(old, new)  # type: ignore[operator]
    assert str(problem.value).startswith("x.esl: ")


def answer(rows: list[tuple[str, str, int, int | None]]) -> pa.Table:
    k, end, n, total = zip(*rows, strict=True)
    times = pa.array(end).cast(pa.timestamp("us", "UTC"))
    return pa.table({"k": k, "window_end": times, "n": pa.array(n, pa.int64()), "total": pa.array(total, pa.int64())})


RIGHT = [("a", "2024-01-01T00:00:10Z", 2, 5), ("a", "2024-01-01T00:00:20Z", 1, None)]


@pytest.mark.parametrize(
    ("rows", "late", "told"),
    [
        (RIGHT[:1], 0, "1 rows missing of 2"),
        ([*RIGHT, RIGHT[0]], 0, "1 rows too many of 2"),
        ([("a", "2024-01-01T00:00:10Z", 2, 6), RIGHT[1]], 0, r"too many of 2.*\n1 rows missing"),
        ([RIGHT[0], ("a", "2024-01-01T00:00:20Z", 1, 0)], 0, "1 rows missing"),
        (RIGHT[::-1], 0, "not in the order of window_end"),
        (RIGHT, 1, "1 tuples were late"),
    ],
)
def test_wrong_answers_are_told(rows: list[tuple[str, str, int, int | None]], late: int, told: str) -> None:
    case = read_case(HERE / "windows" / "example.esl")
    check(case, Found(answer(RIGHT)))
    with pytest.raises(AssertionError, match=told):
        check(case, Found(answer(rows), late))


@pytest.mark.parametrize("seed", range(5))
def test_shuffled_rows_are_within_the_slack(seed: int) -> None:
    (one,) = shared_inputs("readings")
    order = Arrival(seed=seed).order(one)
    assert sorted(order) == list(range(600))
    assert order != list(range(600))
    newest = None
    for row in order:
        time = one.times[row]
        assert time is not None
        assert newest is None or time >= newest - one.slack
        newest = time if newest is None else max(newest, time)


def test_rows_without_time_stamps_have_no_other_order() -> None:
    with pytest.raises(ValueError, match="write skip shuffled: REASON"):
        Arrival(seed=1).order(Input.of("stream", "s (k STRING, v INT)\nk,v\na,1"))


def test_cases_that_mean_different_things_by_a_name_do_not_share_a_mill() -> None:
    latent, example, tumbling, sliding = (
        read_case(HERE / f"{name}.esl")
        for name in ("over/latent", "windows/example", "windows/tumbling", "windows/sliding")
    )
    assert share([latent, example, tumbling, sliding]) == [[latent, tumbling, sliding], [example]]
