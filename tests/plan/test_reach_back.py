"""How far back what a query answers depends on what came."""

from __future__ import annotations

import pytest

from millstream.catalog.catalog import Catalog
from millstream.language.binder import bind
from millstream.language.bound import Define, Rows
from millstream.language.parser import parse
from millstream.plan.build import build
from millstream.plan.passes import apply_passes
from millstream.plan.reach_back import reach_back

SECOND = 1_000_000
DECLARED = """
    CREATE STREAM s (k STRING, v INT, ts TIMESTAMP, other TIMESTAMP) ORDER BY ts SOURCE 'csv:s';
    CREATE STREAM t (k STRING, v INT, ts TIMESTAMP) ORDER BY ts SOURCE 'csv:t';
    CREATE TABLE names (k STRING, name STRING) SOURCE 'csv:names';
    CREATE STREAM sums AS SELECT k, sum(v) [RANGE 10 SECONDS, WA ts] AS v, window_end AS at FROM s GROUP BY k;
"""


@pytest.mark.parametrize(
    ("select", "seconds"),
    [
        ("SELECT k FROM s WHERE v > 1", 0),
        ("SELECT count(*) [RANGE 10 SECONDS, SLIDE 2 SECONDS, WA ts] FROM s WHERE v > 1", 10),
        ("SELECT count(*) [RANGE 10 SECONDS, WA ts] FROM s JOIN names ON s.k = names.k", 10),
        ("SELECT count(*) [RANGE 10 SECONDS, WA ts] FROM (SELECT ts FROM s UNION ALL SELECT ts FROM t) AS u", 10),
        ("SELECT max(v) [RANGE 30 SECONDS, WA at] FROM sums", 50),
        ("SELECT count(*) [RANGE 10 SECONDS, WA ts, ORIGIN FIRST] FROM s", None),
        ("SELECT count(*) [RANGE ALL, SLIDE 10 SECONDS, WA ts] FROM s", None),
        ("SELECT count(*) [RANGE 10 ROWS] FROM s", None),
        ("SELECT count(*) FROM SESSION(TABLE s, DESCRIPTOR(ts), INTERVAL '2' SECOND)", None),
        ("SELECT v, sum(v) OVER (ORDER BY ts RANGE INTERVAL '2' SECOND PRECEDING) FROM s", None),
        ("SELECT s.k FROM s [RANGE 2 SECONDS], t [RANGE 2 SECONDS] WHERE s.k = t.k", None),
    ],
)
def test_reach_back(select: str, seconds: int | None) -> None:
    catalog = Catalog()
    for statement in parse(DECLARED):
        bound = bind(statement, catalog)
        assert isinstance(bound, Define)
        catalog.add(bound.definition)
    (statement,) = parse(select)
    bound = bind(statement, catalog)
    assert isinstance(bound, Rows)
    found = reach_back(apply_passes(build(bound.select), catalog))
    assert found == (None if seconds is None else seconds * SECOND)
