"""DESCRIBE and EXPLAIN say how far a stream may run ahead and whether bad files are rejected, as it was declared."""

from __future__ import annotations

import pytest

from millstream.catalog.catalog import Catalog
from millstream.language.binder import bind
from millstream.language.bound import Define
from millstream.language.parser import parse
from millstream.mill.reports.describe import headline
from millstream.plan.scans import Scan


@pytest.mark.parametrize(
    ("clause", "told"),
    [
        ("", ""),
        ("AHEAD 90 MINUTES", ", ahead 90 minutes"),
        ("AHEAD 90 MINUTES REJECT", ", ahead 90 minutes"),
        ("AHEAD INTERVAL '1' DAY WAIT", ", ahead 1 day wait"),
        ("AHEAD UNBOUNDED", ", ahead unbounded"),
        ("ON BAD FILE STOP", ""),
        ("ON BAD FILE REJECT", ", bad files rejected"),
    ],
)
def test_what_was_declared_is_told(clause: str, told: str) -> None:
    text = f"CREATE STREAM s (ts TIMESTAMP) ORDER BY ts SLACK 1 SECOND {clause} SOURCE 'csv:s'"
    bound = bind(parse(text)[0], Catalog())
    assert isinstance(bound, Define)
    stream = bound.definition
    assert headline("s", stream) == f"stream s, from csv:s, external time stamp ts, slack 1 second{told}"
    assert Scan(stream).label().endswith(f"slack 1 second{told})")  # type: ignore[arg-type]
