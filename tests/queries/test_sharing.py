"""Which queries in files cannot share the reading of their stream, and why, is written down in alone.txt.

`UPDATE_GOLDEN=1` writes it anew. test_queries.py looks that all others do share it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from millstream.language.bound import Start
from tests.queries.arrivals import Arrival
from tests.queries.cases import HERE, all_cases
from tests.queries.sites import Site, sites

ALONE = HERE / "alone.txt"


def those_alone() -> dict[str, str]:
    """The cases that run by themselves, each with the reason."""
    return dict(line.split(": ", 1) for line in ALONE.read_text().splitlines())


@pytest.mark.slow
def test_what_cannot_share_is_written_down(tmp_path: Path) -> None:
    cases = [case for case in all_cases() if case.runs("whole")]
    found: dict[str, str] = {}
    with sites(cases, tmp_path, Arrival()) as (there, outcomes):
        for site in there:
            site.arrive()
            site.open()
            site.declare()
            found |= reasons(site)
        assert not outcomes
    if os.environ.get("UPDATE_GOLDEN"):
        ALONE.write_text("".join(f"{name}: {why}\n" for name, why in sorted(found.items())))
    known = those_alone()
    assert found == {case.name: known[case.name] for case in cases if case.name in known}


def reasons(site: Site) -> dict[str, str]:
    """Why cases could not share a reading, of those that could not."""
    engine, settings, found = site.mill.engine, site.mill.settings, {}
    for case in site.cases:
        (bound,) = site.mill.check(f"CREATE QUERY {case.query} AS {case.select}")
        assert isinstance(bound, Start)
        considered = engine.hosts.decisions.decide(bound.query, engine.planner.plan(bound.query), settings)
        if considered.plan is None:
            found[case.name] = considered.why
    return found
