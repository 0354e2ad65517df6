"""Arrays that go into aggregates in Python, and come out of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.mill import Mill

pytestmark = pytest.mark.spark


class Together:
    """All values of all arrays, in their order, and the texts of their lengths."""

    nulls = True

    def zero(self) -> Any:
        """Nothing seen."""
        return []

    def reduce(self, state: Any, values: Any) -> Any:
        """One more array."""
        return [*state, *(values or [None])]

    def merge(self, a: Any, b: Any) -> Any:
        """Those of both."""
        return [*a, *b]

    def finish(self, state: Any) -> Any:
        """Rows: the sorted values, and those that are alone."""
        known = sorted(v for v in state if v is not None)
        return [(known, [str(v) for v in known], len(state)), (None, [], len(known))]


def test_arrays_cross_in_both_directions(run: Callable[[str], Mill], tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rows = [("a", [3, 1]), ("a", None), ("b", []), ("b", [7]), ("a", [2, None])]
    lines = [json.dumps({"k": k, "v": v, "ts": f"2024-01-01T00:00:0{n}"}) for n, (k, v) in enumerate(rows)]
    (tmp_path / "in" / "a.json").write_text("\n".join(lines))
    mill = run(f"""
        CREATE STREAM s (k STRING, v ARRAY<INT>, ts TIMESTAMP) ORDER BY ts SOURCE 'json:in';
        CREATE AGGREGATE together (v ARRAY<INT>) : (found ARRAY<INT>, texts ARRAY<STRING>, n INT)
          LANGUAGE PYTHON '{__name__}:Together';
        CREATE QUERY q AS SELECT k, together(v) [RANGE 1 MINUTE] FROM s GROUP BY k;""")
    found = sorted((tuple(row.values()) for row in mill.query("q").to_arrow().to_pylist()), key=str)
    assert found == [
        ("a", None, [], 3),
        ("a", [1, 2, 3], ["1", "2", "3"], 5),
        ("b", None, [], 1),
        ("b", [7], ["7"], 2),
    ]
