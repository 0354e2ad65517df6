"""Every query in a file, run in every way, gives what its file says: see README.md."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.drawing import THOROUGH
from tests.queries.cases import Case, all_cases
from tests.queries.killed import killed
from tests.queries.oracle import check
from tests.queries.sites import Outcomes
from tests.queries.test_sharing import those_alone
from tests.queries.ways import TWINS, InCompany, Resumed, Shuffled, shuffled_and_resumed, stored, whole

Way = Callable[[list[Case], Path], Outcomes]

WAYS: dict[str, Way] = {"whole": whole, "resumed": shuffled_and_resumed, "stored": stored}
if THOROUGH:
    WAYS |= {"shuffled": Shuffled(), "resumed in order": Resumed(files=4, stop=2)}
    WAYS |= {f"shuffled {seed}": Shuffled(seed, seed, 1 + seed % 4, seed % 2 > 0) for seed in range(2, 9)}
    WAYS |= {f"resumed {stop}": Resumed(6, stop, (stop, 1)) for stop in range(1, 6)}

FOLDERS = {folder: [c for c in all_cases() if c.path.parent.name == folder] for folder in
           sorted({c.path.parent.name for c in all_cases()})}  # fmt: skip


def cases_of(folder: str, way: str) -> list[Case]:
    """The cases of a folder that are run in a way."""
    return [case for case in FOLDERS[folder] if case.runs(way.split(maxsplit=1)[0])]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("folder", "way"), [(f, w) for f in FOLDERS for w in WAYS if cases_of(f, w)])
def test_queries_give_their_rows(folder: str, way: str, tmp_path: Path, subtests: pytest.Subtests) -> None:
    cases = cases_of(folder, way)
    compare(cases, WAYS[way](cases, tmp_path), subtests)


COMPANIES = (
    [InCompany(seed, 1 + seed % 3, (None, 3)[seed % 2], seed % 3 == 0) for seed in range(1, 7)]
    if THOROUGH
    else [InCompany(parquet=True)]
)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("company", COMPANIES, ids=str)
def test_queries_in_company_give_their_rows(company: InCompany, tmp_path: Path, subtests: pytest.Subtests) -> None:
    cases = [case for case in all_cases() if case.runs("whole") and case.runs("shuffled")]
    if not THOROUGH:
        cases = random.Random(company.seed).sample(cases, min(len(cases), 12))
    outcomes = company(cases, tmp_path)
    known = those_alone()
    assert company.alone == {case.name: known[case.name] for case in cases if case.name in known}
    compare(cases, outcomes, subtests)
    compare(cases, {case.name: outcomes[f"{case.name}{TWINS[1]}"] for case in cases}, subtests)


@pytest.mark.spark
@pytest.mark.fault
def test_queries_that_are_killed_give_their_rows(tmp_path: Path, subtests: pytest.Subtests) -> None:
    cases = [case for case in all_cases() if case.runs("killed")]
    if not cases:
        pytest.skip("none of the chosen cases is killed")
    compare(cases, killed(cases, tmp_path, kills=3 if THOROUGH else 1), subtests)


def compare(cases: list[Case], outcomes: Outcomes, subtests: pytest.Subtests) -> None:
    """Each case by itself, so that all that go wrong are told."""
    for case in cases:
        with subtests.test(case.name):
            outcome = outcomes[case.name]
            if isinstance(outcome, Exception):
                raise outcome
            check(case, outcome)
