"""Which queries send no tuple of a source to a stage as it is."""

from __future__ import annotations

import pytest

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Query
from millstream.language.binder import bind
from millstream.language.parser import statements
from millstream.language.trial.dry_run import dry_run
from millstream.plan.build import build
from millstream.plan.passes import apply_passes
from millstream.plan.physical import physical
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.place_partials import reduces

STREAM = "CREATE STREAM s (k INT, v INT, ts TIMESTAMP) ORDER BY ts SOURCE 'parquet:in';"
SUMS = "SELECT k, window_end, sum(v) [RANGE 10 SECONDS, SLIDE 2 SECONDS] AS n FROM s GROUP BY k"


@pytest.mark.parametrize(
    ("select", "wanted"),
    [
        ("SELECT k FROM s WHERE v > 3", True),
        (SUMS, True),
        (f"SELECT k, max(n) OVER (RANGE 1 MINUTE PRECEDING) AS high FROM ({SUMS}) AS w", True),
        ("SELECT k, sum(v) OVER (RANGE 1 MINUTE PRECEDING) AS n FROM s", False),
        ("SELECT sum(v) [RANGE 10 ROWS] AS n FROM s", False),
        ("SELECT sum(v) [RANGE 10 SECONDS, ORIGIN FIRST] AS n FROM s", False),
        ("SELECT a.v FROM s AS a [RANGE 1 SECOND], s AS b WHERE a.k = b.k", False),
        (f"{SUMS} UNION ALL SELECT k, ts, count(*) OVER (RANGE 1 SECOND PRECEDING) FROM s", False),
    ],
)
def test_only_panes_reduce(select: str, wanted: bool) -> None:
    catalog = Catalog()
    for statement in statements(f"{STREAM} CREATE QUERY q AS {select};"):
        dry_run(bind(statement, catalog), catalog)
    (query,) = catalog.all(Query)
    assert reduces(physical(apply_passes(build(query), catalog), Facts())) is wanted
