"""Calcite's cases of window assignment, as queries on Spark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from millstream.mill import Mill
from tests.language.test_calcite import query
from tests.windows.test_calcite import CASES, NAMES, params, rows

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not CASES.is_dir(), reason="Calcite's cases, ../shared/external/calcite_tvf, are not there"),
]


@pytest.mark.parametrize("name", NAMES)
def test_windows_are_assigned_as_in_calcite(mill: Mill, tmp_path: Path, name: str) -> None:
    case = next(row for row in rows(CASES / "cases.csv") if row["id"] == name)
    text = (CASES / case["input"]).read_text().replace(r"\N", "")
    (tmp_path / "given.csv").write_text(text)
    wanted = text.splitlines()[0].split(",")
    time, *others = wanted
    columns = ", ".join(f"{c} STRING" for c in others)
    mill.execute(f"CREATE TABLE given ({time} TIMESTAMP, {columns}) SOURCE 'csv:given.csv'")
    source = "given"
    if shift := re.search(r"\+ ([\d.]+) s", case["note"]):
        # The first case adds a time column of its own.
        mill.execute(
            f"""CREATE TABLE moved AS
                SELECT {time} + INTERVAL '{shift[1]}' SECOND AS at, {", ".join(wanted)} FROM given"""
        )
        source, time = "moved", "at"
    if case["window"] == "SESSION":
        # A group per row: each row with the session that it belongs to.
        key = params(case["params"]).get("key")
        group = " GROUP BY " + ", ".join(dict.fromkeys([*wanted, *([key] if key else [])]))
    else:
        group = ""
    asked = query(case, ", ".join([*wanted, "window_start", "window_end"])) + group
    found = mill.execute(asked.replace("orders", source).replace("rowtime", time))[-1].table
    assert found is not None
    expected = rows(CASES / "expected" / f"{name}.csv")
    assert len(expected) == int(case["expected_rows"])
    assert Counter(comparable(r.values()) for r in found.to_pylist()) == Counter(
        comparable(r[c] for c in [*wanted, "window_start", "window_end"]) for r in expected
    )


def comparable(values: Iterable[object]) -> tuple[str, ...]:
    """Times in one spelling."""
    return tuple("" if v is None else re.sub(r"(\.\d*?)0+$", r"\1", str(v).removesuffix("+00:00")) for v in values)
