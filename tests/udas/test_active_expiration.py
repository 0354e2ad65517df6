"""Where ACTIVE EXPIRATION has a meaning, and how it is told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from millstream.errors import Refused
from millstream.mill.mill import Mill
from tests.udas.paper import AVERAGE, WINDOW_AVERAGE

LEAVING = """CREATE WINDOW AGGREGATE leaving (x INT) : INT {
  INITIALIZE: ITERATE: { }
  EXPIRE: { INSERT INTO RETURN VALUES (x); }
}"""
DEFINITIONS = (
    f"CREATE STREAM s (ts TIMESTAMP, v INT) ORDER BY ts SOURCE 'csv:in'; {AVERAGE}; {WINDOW_AVERAGE}; {LEAVING}"
)


@pytest.fixture
def mill() -> Iterator[Mill]:
    with Mill() as opened:
        opened.execute(DEFINITIONS)
        yield opened


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("max(v) OVER (RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION)", "it returns nothing then"),
        ("myavg(v) OVER (RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION)", "it returns nothing then"),
        ("winavg(v) OVER (RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION)", "it returns nothing then"),
        ("leaving(v) OVER (ROWS 5 PRECEDING ACTIVE EXPIRATION)", "only when another comes"),
        ("leaving(v) OVER (RANGE UNBOUNDED PRECEDING ACTIVE EXPIRATION)", "no tuple ever leaves"),
        ("leaving(v) OVER (RANGE 5 SECONDS PRECEDING SLIDE 1 SECOND ACTIVE EXPIRATION)", "do not go together"),
        (
            "leaving(v) OVER (RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION), max(v) OVER (RANGE 5 SECONDS PRECEDING)",
            "moments of its own",
        ),
    ],
)
def test_it_is_refused_where_it_has_no_meaning(mill: Mill, item: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        mill.execute(f"SELECT {item} FROM s")


def test_explain_tells_it(mill: Mill) -> None:
    (told,) = mill.execute("EXPLAIN SELECT leaving(v) OVER (RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION) FROM s")
    assert "5 seconds PRECEDING ACTIVE EXPIRATION" in str(told)
