"""EXPLAIN WHY NOT, from what is known of a query, without one."""

from __future__ import annotations

import time

from millstream.catalog.catalog import Catalog
from millstream.language.binder import bind
from millstream.language.bound import Define, Start
from millstream.language.parser import statements
from millstream.mill.reports.why_not import why_not
from millstream.plan.algebra import Node
from millstream.plan.build import build
from millstream.plan.passes import apply_passes
from millstream.spark.run.progress import Counts

STREAMS = """
    CREATE STREAM a (ts TIMESTAMP, v INT) ORDER BY ts SLACK 2 SECONDS SOURCE 'csv:a';
    CREATE STREAM b (ts TIMESTAMP, v INT) ORDER BY ts IDLE AFTER 5 SECONDS SOURCE 'csv:b';
    CREATE STREAM c (v INT, current_time TIMESTAMP) ORDER BY current_time SOURCE 'csv:c';
"""
SECOND = 1_000_000


def plan_of(select: str) -> Node:
    catalog = Catalog()
    for statement in statements(f"{STREAMS} CREATE QUERY q AS {select};"):
        bound = bind(statement, catalog)
        if isinstance(bound, Define):
            catalog.add(bound.definition)
        elif isinstance(bound, Start):
            return apply_passes(build(bound.query.select), catalog)
    raise AssertionError("no query")


UNION = """SELECT count(*) [RANGE 10 SECONDS, WA ts] AS n FROM
    (SELECT ts FROM a UNION ALL SELECT ts FROM b UNION ALL SELECT current_time FROM c) AS u"""


def counts(waits: int | None, **passed: int | None) -> Counts:
    known = Counts(batches=1, waits={"1": waits}, passed={"1": dict(passed)})
    known.heard["a"] = time.monotonic() - 3
    return known


def test_nothing_is_held_back() -> None:
    assert why_not("q", plan_of("SELECT v FROM a"), Counts()) == (
        "q holds nothing back: it answers each tuple as it comes"
    )
    assert why_not("q", plan_of(UNION), Counts()) == "q has read nothing yet"
    assert why_not("q", plan_of(UNION), counts(None)) == "q holds nothing back: it has answered all that has come"


def test_each_input_is_told_of_with_what_would_release_it() -> None:
    found = why_not("q", plan_of(UNION), counts(10 * SECOND, a=7 * SECOND, b=None, c=12 * SECOND)).splitlines()
    assert found[0].startswith("q waits for 1970-01-01T00:00:10: what WindowAggregate COUNT(*)")
    assert found[1:] == [
        "  a holds it back: it has come to 1970-01-01T00:00:07, and was last heard 3.0 seconds ago",
        "    what would release it: a tuple of 1970-01-01T00:00:12 or later, by its slack; "
        "IDLE AFTER, which it has not, would let it be passed over",
        "  b holds it back: it has not said how far it is, and has brought nothing yet",
        "    what would release it: a tuple of 1970-01-01T00:00:10 or later; "
        "silence for 5 seconds, once the clock has come so far",
        "  c does not: it has come to 1970-01-01T00:00:12",
    ]


def test_a_stage_in_the_way_is_told_of_with_its_inputs() -> None:
    plan = plan_of("""SELECT max(n) [RANGE 1 MINUTE, WA window_end] AS most FROM
        (SELECT window_end, count(*) [RANGE 10 SECONDS, WA ts] AS n FROM a) AS w""")
    known = counts(10 * SECOND, a=7 * SECOND)
    known.waits["2"], known.passed["2"] = 5 * SECOND, {"1": 4 * SECOND}
    found = why_not("q", plan, known).splitlines()
    assert found[0].startswith("q waits for 1970-01-01T00:00:05: what WindowAggregate MAX(n)")
    assert found[1].startswith("  stage 1 holds it back, has come to 1970-01-01T00:00:04: WindowAggregate COUNT(*)")
    assert found[2] == "    it reads a, which has come to 1970-01-01T00:00:07, and was last heard 3.0 seconds ago"
