"""The predicate index against the cross product: every kind of term, any types, registrations that come and go."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.expressions.arrow.steps import Applied, ColumnOf, Whole
from millstream.operators.match import predicate_index
from millstream.operators.match.predicate_index import ID, PredicateIndex
from millstream.operators.match.terms import Bound, MatchTerms, PrefixTerm, RangeTerm
from tests.drawing import drawn

NAN = math.nan
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "tiny": (pa.int8(), [-128, 0, 1, 127]),
    "int": (pa.int64(), [-(2**63), -1, 0, 7, 8, 2**63 - 1]),
    "float": (pa.float64(), [-math.inf, -0.0, 0.0, 1.5, 5e-324, math.inf, NAN]),
    "decimal": (pa.decimal128(38, 2), [Decimal("-" + "9" * 36), Decimal(0), Decimal("0.01"), Decimal("9" * 36)]),
    "text": (pa.string(), ["", "a", "ab", "abc", "b", "é", "éa", "\U0001f600"]),
    "date": (pa.date32(), [date(1, 1, 1), date(1970, 1, 1), date(9999, 12, 31)]),
    "time": (pa.timestamp("us", tz="UTC"), [datetime(1, 1, 1, tzinfo=UTC), datetime(2024, 5, 6, 7, tzinfo=UTC)]),
    "bool": (pa.bool_(), [False, True]),
}
PATTERNS = ["", "a", "ab", "a%c", "_", "%", "a\\%", "\\_", "é", "a_"]
TEXTS = ["", "a", "ab", "abc", "axc", "a%", "a%x", "_", "_x", "b", "éa", "\na"]


def column(name: str) -> Whole:
    return Whole(ColumnOf(name, None))


def same(a: Any, b: Any) -> bool:
    return a is not None and b is not None and (a == b or (a != a and b != b))


def before(a: Any, b: Any, inclusive: bool) -> bool:
    """Whether a < b, or a <= b: NaN is the greatest."""
    if a is None or b is None:
        return False
    if a != a or b != b:
        return (inclusive and a != a and b != b) or (a == a and b != b)
    return bool(a <= b if inclusive else a < b)


def begins(text: Any, prefix: Any, suffix: str | None) -> bool:
    if text is None or prefix is None:
        return False
    if suffix is None:
        return bool(text.startswith(prefix))
    letters = iter(f"{prefix}{suffix}")
    parts = (re.escape(next(letters)) if c == "\\" else {"%": ".*", "_": "."}.get(c, re.escape(c)) for c in letters)
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


@dataclass
class Asked:
    """Terms, and what they mean for one tuple and one registration."""

    terms: MatchTerms
    holds: Callable[[dict[str, Any], dict[str, Any]], bool]
    kinds: list[str]
    prefix: bool


@st.composite
def conditions(draw: st.DrawFn) -> Asked:
    kinds = draw(st.lists(st.sampled_from(list(KINDS)), max_size=2))
    ranged = draw(st.sampled_from([None, *KINDS]))
    above, below = draw(st.sampled_from([(None, True), (None, False), (True, None), (False, None), (True, True)]))
    if draw(st.booleans()) and above is not None and below is not None:
        above, below = draw(st.booleans()), draw(st.booleans())
    prefix, suffix = draw(st.booleans()), draw(st.sampled_from([None, "%", "", "b%"]))
    rest, alone = draw(st.booleans()), draw(st.booleans())
    term = RangeTerm(
        column("r"),
        None if above is None else Bound(column("p.low"), above),
        None if below is None else Bound(column("p.high"), below),
    )
    terms = MatchTerms(
        equal=tuple((column(f"k{i}"), column(f"p.k{i}")) for i in range(len(kinds))),
        range=term if ranged else None,
        prefix=PrefixTerm(column("t"), column("p.t"), suffix) if prefix else None,
        rest=Whole(Applied(pc.less, (ColumnOf("x", None), ColumnOf("p.x", None)))) if rest else None,
        alone=Whole(ColumnOf("p.on", None)) if alone else None,
    )

    def holds(one: dict[str, Any], other: dict[str, Any]) -> bool:
        found = all(same(one[f"k{i}"], other[f"p.k{i}"]) for i in range(len(kinds)))
        if ranged and above is not None:
            found = found and before(other["p.low"], one["r"], above)
        if ranged and below is not None:
            found = found and before(one["r"], other["p.high"], below)
        if prefix:
            found = found and begins(one["t"], other["p.t"], suffix)
        if rest:
            found = found and before(one["x"], other["p.x"], False)
        return bool(found and (not alone or other["p.on"]))

    return Asked(terms, holds, [*kinds, ranged or "int"], prefix)


def rows(draw: st.DrawFn, columns: dict[str, str], most: int) -> pa.Table:
    count = draw(st.integers(0, most))
    made = {}
    for name, kind in columns.items():
        type_, values = KINDS.get(kind) or (pa.string(), PATTERNS if kind == "patterns" else TEXTS)
        drawn_ = draw(st.lists(st.sampled_from([None, *values]), min_size=count, max_size=count))
        made[name] = pa.array(drawn_, type_)
    return pa.table(made)


@given(data=st.data(), asked=conditions())
@drawn(300)
def test_index_is_the_cross_product(data: st.DataObject, asked: Asked) -> None:
    *keys, ranged = asked.kinds
    ours = {**{f"k{i}": k for i, k in enumerate(keys)}, "r": ranged, "t": "texts", "x": "int"}
    theirs = {**{f"p.k{i}": k for i, k in enumerate(keys)}, "p.low": ranged, "p.high": ranged, "p.t": "patterns"}
    theirs |= {"p.x": "int", "p.on": "bool"}
    index: PredicateIndex | None = None
    known: dict[int, dict[str, Any]] = {}
    number = 0
    for _ in range(data.draw(st.integers(1, 4))):
        fresh = rows(data.draw, theirs, 12)
        ids = pa.array(range(number, number + fresh.num_rows), pa.int64())
        number += fresh.num_rows + 1
        fresh = fresh.append_column(ID, ids)
        if index is None:
            index = PredicateIndex(asked.terms, fresh.schema)
        index.add(fresh)
        known |= {row[ID]: row for row in fresh.to_pylist()}
        gone = data.draw(st.lists(st.integers(0, number), max_size=8))
        index.remove(np.array(sorted(gone), dtype=np.int64))
        for one in gone:
            known.pop(one, None)
        tuples = rows(data.draw, ours, 20)
        found = []
        ids_now = index.rows[ID].to_pylist()
        for left, right in index.pairs(tuples):
            found += list(zip(left.tolist(), [ids_now[place] for place in right], strict=True))
        wanted = {
            (i, n) for i, one in enumerate(tuples.to_pylist()) for n, row in known.items() if asked.holds(one, row)
        }
        assert len(found) == len(set(found))
        assert set(found) == wanted
        assert [left for left, _ in found] == sorted(left for left, _ in found), "tuples keep their order"


def test_memory_is_bounded_where_all_match(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicate_index, "MOST_PAIRS", 1000)
    table = pa.table({ID: pa.array(range(300), pa.int64()), "p.k0": pa.array([1] * 300)})
    index = PredicateIndex(MatchTerms(equal=((column("k0"), column("p.k0")),)), table.schema)
    index.add(table)
    sizes = [len(left) for left, _ in index.pairs(pa.table({"k0": pa.array([1, 2] * 500)}))]
    assert sum(sizes) == 300 * 500
    assert max(sizes) <= 1000


def test_registrations_one_by_one_make_few_segments() -> None:
    schema = pa.schema([(ID, pa.int64()), ("p.k0", pa.int64())])
    index = PredicateIndex(MatchTerms(equal=((column("k0"), column("p.k0")),)), schema)
    for number in range(500):
        index.add(pa.table({ID: pa.array([number], pa.int64()), "p.k0": pa.array([number % 7])}))
    assert len(index._segments) < 10
    found = sum(len(left) for left, _ in index.pairs(pa.table({"k0": pa.array(range(7))})))
    assert found == 500


def test_wide_intervals_cost_what_they_match() -> None:
    """Most of the intervals begin before the value and end behind it, or none does: only those that match are made."""
    count = 20_000
    low = pa.array(np.arange(count) * 10)
    table = pa.table({ID: pa.array(range(count), pa.int64()), "p.low": low, "p.high": pc.add(low, 5)})
    term = RangeTerm(column("r"), Bound(column("p.low"), True), Bound(column("p.high"), False))
    index = PredicateIndex(MatchTerms(range=term), table.schema)
    index.add(table)
    values = pa.table({"r": pa.array(np.arange(count) * 10 + 3)})
    pairs = list(index.pairs(values))
    assert sum(len(left) for left, _ in pairs) == count
    assert all((left == right).all() for left, right in pairs)
