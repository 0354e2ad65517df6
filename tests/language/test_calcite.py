"""Calcite's cases of window assignment, as queries: each binds to the window that its parameters describe."""

from __future__ import annotations

import pytest

from millstream.catalog.catalog import Catalog
from millstream.errors import NotYet
from millstream.language.binder import bind
from millstream.language.bound import Rows as Bound
from millstream.language.parser import parse
from millstream.language.trial.dry_run import dry_run
from millstream.windows import Session
from tests.windows.test_calcite import CASES, NAMES, Row, params, rows, window

pytestmark = pytest.mark.skipif(
    not CASES.is_dir(), reason="Calcite's cases, ../shared/external/calcite_tvf, are not there"
)

ORDERS = """
CREATE STREAM orders (rowtime TIMESTAMP, id INT, product STRING, units INT, uid STRING)
  ORDER BY rowtime SOURCE 'csv:orders.csv';
"""
PARAMETERS = {"size": "SIZE", "slide": "SLIDE", "offset": "OFFSET", "gap": "SIZE", "key": "KEY"}


def catalog() -> Catalog:
    made = Catalog()
    for statement in parse(ORDERS):
        dry_run(bind(statement, made), made)
    return made


def query(case: Row, wanted: str) -> str:
    """The query of a case: its input is the stream or a subquery, its arguments go by place or by name."""
    given = params(case["params"])
    source = "(SELECT * FROM orders)" if "subquery" in case["note"] else "TABLE orders"
    arguments = [("DATA", source), ("TIMECOL", "DESCRIPTOR(rowtime)")]
    # Calcite wants the key before the gap, and the others as they are listed.
    for name, value in sorted(given.items(), key=lambda pair: pair[0] != "key"):
        number, _, unit = value.partition(" ")
        length = f"DESCRIPTOR({value})" if name == "key" else f"INTERVAL '{number}' {unit.upper()}"
        arguments.append((PARAMETERS[name], length))
    named = "named" in case["note"]
    texts = [f"{name} => {value}" if named else value for name, value in arguments]
    return f"SELECT {wanted} FROM TABLE({case['window']}({', '.join(texts)}))"


def bound(text: str) -> Bound:
    found = bind(parse(text)[0], catalog())
    assert isinstance(found, Bound)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_windows_bind(name: str) -> None:
    case = next(row for row in rows(CASES / "cases.csv") if row["id"] == name)
    expected = window(case)
    aggregated = bound(query(case, "count(*) AS n")).select.window_aggregate
    assert aggregated is not None
    assert aggregated.window == expected
    assert aggregated.partition == len([k for k in params(case["params"]) if k == "key"])
    if isinstance(expected, Session):
        with pytest.raises(NotYet):
            bound(query(case, "*"))
        return
    assigned = bound(query(case, "*")).select
    assert assigned.window_assignment is not None
    assert assigned.window_assignment.window == expected
    assert assigned.schema.names[-2:] == ("window_start", "window_end")
