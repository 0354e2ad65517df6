"""The laws of the contract, for every registered aggregate and every type it takes."""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.aggregates.codes import encode
from millstream.aggregates.contract import Aggregate, State, put, take
from millstream.aggregates.registry import ALIASES, BUILT_IN, find, names
from tests.aggregates.arguments import CONSTANTS, bindings
from tests.drawing import drawn

GROUPS = 3
KEYED = ("min_by", "max_by")
WIDE = Context(prec=60)
APPROXIMATE = ("var_samp", "var_pop", "stddev_samp", "stddev_pop", "covar_samp", "covar_pop", "corr")


def values(kind: pa.DataType, tame: bool) -> st.SearchStrategy[Any]:
    """Values of a type; tame ones leave no doubt about the answer, in whatever way it is computed."""
    if pa.types.is_integer(kind):
        limit = 2 ** (kind.bit_width - 1)
        small = st.integers(-min(limit, 1000), min(limit - 1, 1000))
        return small if tame else small | st.integers(-limit, limit - 1)
    if pa.types.is_floating(kind):
        eighths = st.integers(-8000, 8000).map(lambda i: i / 8)
        return eighths if tame else eighths | st.sampled_from([math.nan, math.inf, -math.inf, -0.0])
    if pa.types.is_decimal(kind):
        digits = 5 if tame else kind.precision
        return st.integers(1 - 10**digits, 10**digits - 1).map(lambda i: Decimal(i).scaleb(-kind.scale, WIDE))
    if pa.types.is_string(kind):
        return st.text("ab\u00e9\u6f22\U0001f600", max_size=3)
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_date(kind):
        return st.dates(date(1960, 1, 1), date(2040, 1, 1))
    return st.integers(-(10**6), 10**6).map(lambda s: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(seconds=s))


@dataclass
class Tuples:
    """A few tuples, and the aggregate they are for."""

    aggregate: Aggregate
    groups: list[int]
    times: list[int]
    columns: list[list[Any]]

    def arrays(self, indices: Sequence[int]) -> tuple[Any, list[pa.Array], Any]:
        columns = zip(self.columns, self.aggregate.arguments, strict=True)
        return (
            np.array([self.groups[i] for i in indices], dtype=np.int64),
            [pa.array([column[i] for i in indices], type=kind) for column, kind in columns],
            np.array([self.times[i] for i in indices], dtype=np.int64),
        )

    def state(self, indices: Sequence[int], into: State | None = None) -> State:
        return self.aggregate.reduce(into or self.aggregate.zero(GROUPS), *self.arrays(indices))

    def whole(self) -> State:
        return self.state(range(len(self.groups)))

    def answers(self, state: State) -> list[Any]:
        column = self.aggregate.finish(state)
        assert column.type == self.aggregate.result
        column.validate(full=True)
        assert len(column) == GROUPS
        return column.to_pylist()


@st.composite
def tuples(
    draw: st.DrawFn, cls: type[Aggregate], kinds: tuple[pa.DataType, ...] | None = None, tame: bool = False
) -> Tuples:
    kinds = kinds if kinds is not None else draw(st.sampled_from(bindings(cls)))
    aggregate = cls(kinds)
    parts = [st.one_of(st.none(), *[values(kind, tame or cls.name in APPROXIMATE)] * 3) for kind in kinds]
    if cls.name in CONSTANTS:
        parts[1] = st.just(CONSTANTS[cls.name][1])
    row = st.tuples(st.integers(0, GROUPS - 1), st.integers(0, 4), *parts)
    rows = draw(st.lists(row, max_size=12))
    groups, times, *columns = ([row[i] for row in rows] for i in range(2 + len(kinds)))
    return Tuples(aggregate, groups, times, columns)


def same(left: Any, right: Any, slack: float = 1e-9) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(a, b, slack) for a, b in zip(left, right, strict=True))
    if isinstance(left, float) and isinstance(right, float):
        return (math.isnan(left) and math.isnan(right)) or math.isclose(left, right, rel_tol=1e-9, abs_tol=slack)
    return bool(left == right)


every_aggregate = pytest.mark.parametrize("cls", BUILT_IN, ids=lambda cls: cls.name)
every_ordered = pytest.mark.parametrize("cls", [c for c in BUILT_IN if c.by_order], ids=lambda cls: cls.name)
quick = drawn(12)


def test_the_registry_knows_every_aggregate() -> None:
    assert names() == sorted(cls.name for cls in BUILT_IN)
    assert len(set(names())) == len(BUILT_IN)
    assert all(find(alias) is find(name) is not None for alias, name in ALIASES.items())


@every_aggregate
def test_some_type_is_taken(cls: type[Aggregate]) -> None:
    assert bindings(cls)


@every_aggregate
@quick
@given(data=st.data())
def test_packed_parts_merge_to_the_whole(cls: type[Aggregate], data: st.DataObject) -> None:
    """Tuples cut into parts, each packed at once; states of one group then bear its number, in any number of lists."""
    case = data.draw(tuples(cls))
    aggregate = case.aggregate
    parts = data.draw(st.lists(st.integers(0, 2), min_size=len(case.groups), max_size=len(case.groups)))
    cut = [[i for i, part in enumerate(parts) if part == nth] for nth in range(3)]
    packed = [aggregate.reduce_packed(*case.arrays(indices), GROUPS) for indices in cut]
    columns = [pa.concat_arrays(pieces) for pieces in zip(*packed, strict=True)]
    assert [column.type for column in columns] == list(aggregate.components)
    merged = aggregate.merge_packed(columns, np.tile(np.arange(GROUPS), 3), GROUPS)
    assert same(case.answers(merged), case.answers(case.whole()))
    if aggregate.removable:
        rest = aggregate.remove(merged, case.state(cut[0]))
        assert same(case.answers(rest), case.answers(case.state(cut[1] + cut[2])))


@every_aggregate
@quick
@given(data=st.data())
def test_batch_equals_one_by_one(cls: type[Aggregate], data: st.DataObject) -> None:
    case = data.draw(tuples(cls))
    state = case.aggregate.zero(GROUPS)
    for i in range(len(case.groups)):
        state = case.state([i], into=state)
    assert same(case.answers(state), case.answers(case.whole()))


@every_aggregate
@quick
@given(data=st.data())
def test_split_and_merge_equals_whole_in_any_order(cls: type[Aggregate], data: st.DataObject) -> None:
    case = data.draw(tuples(cls))
    order = data.draw(st.permutations(range(len(case.groups))))
    cut, again = sorted(data.draw(st.tuples(*[st.integers(0, len(order))] * 2)))
    merge = case.aggregate.merge
    left, middle, right = (case.state(part) for part in (order[:cut], order[cut:again], order[again:]))
    whole = case.answers(case.whole())
    assert same(case.answers(merge(merge(left, middle), right)), whole)
    assert same(case.answers(merge(left, merge(middle, right))), whole)
    assert same(case.answers(merge(right, merge(left, middle))), whole)


@every_aggregate
def test_split_and_merge_for_every_type(cls: type[Aggregate]) -> None:
    for kinds in bindings(cls):

        @drawn(3)
        @given(case=tuples(cls, kinds), cut=st.integers(0, 12))
        def law(case: Tuples, cut: int) -> None:
            indices = range(len(case.groups))
            merged = case.aggregate.merge(case.state(indices[cut:]), case.state(indices[:cut]))
            assert same(case.answers(merged), case.answers(case.whole()))

        law()


@every_aggregate
@quick
@given(data=st.data())
def test_zero_is_neutral(cls: type[Aggregate], data: st.DataObject) -> None:
    case = data.draw(tuples(cls))
    whole, zero = case.whole(), case.aggregate.zero(GROUPS)
    assert same(case.answers(case.aggregate.merge(whole, zero)), case.answers(whole), slack=0)
    assert same(case.answers(case.aggregate.merge(zero, whole)), case.answers(whole), slack=0)


@every_aggregate
@quick
@given(data=st.data())
def test_remove_undoes_merge(cls: type[Aggregate], data: st.DataObject) -> None:
    case = data.draw(tuples(cls))
    cut = data.draw(st.integers(0, len(case.groups)))
    indices = range(len(case.groups))
    kept, part = case.state(indices[:cut]), case.state(indices[cut:])
    whole = case.aggregate.merge(kept, part)
    if not case.aggregate.removable:
        with pytest.raises(NotImplementedError, match=f"{cls.name} cannot remove"):
            case.aggregate.remove(whole, part)
        return
    before = pickle.dumps((whole, part))
    rest = case.aggregate.remove(whole, part)
    assert pickle.dumps((whole, part)) == before
    assert same(case.answers(rest), case.answers(kept), slack=0)
    # What is left must go on working.
    assert same(case.answers(case.aggregate.merge(rest, part)), case.answers(whole), slack=0)


@every_aggregate
@quick
@given(data=st.data())
def test_pack_and_unpack(cls: type[Aggregate], data: st.DataObject) -> None:
    case = data.draw(tuples(cls))
    whole = case.whole()
    columns = case.aggregate.pack(whole)
    assert tuple(column.type for column in columns) == case.aggregate.components
    batch = pa.record_batch(columns, names=[str(i) for i in range(len(columns))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(pa.concat_batches([batch, batch]))
    (travelled,) = pa.ipc.open_stream(sink.getvalue())
    for back in (batch, travelled.slice(GROUPS)):
        state = case.aggregate.unpack(back.columns)
        assert same(case.answers(state), case.answers(whole), slack=0)
        # Unpacked states can be written to, and merge as the ones they came from.
        again = case.state(range(len(case.groups)), into=state)
        assert same(case.answers(again), case.answers(case.aggregate.merge(whole, whole)))
    assert case.aggregate.unpack(case.aggregate.pack(case.aggregate.zero(0)))[0].shape == (0,)


@every_aggregate
@quick
@given(data=st.data())
def test_pickling(cls: type[Aggregate], data: st.DataObject) -> None:
    case = data.draw(tuples(cls))
    copy = pickle.loads(pickle.dumps(case.aggregate))
    assert (copy.arguments, copy.result, copy.components) == (
        *(case.aggregate.arguments, case.aggregate.result),
        case.aggregate.components,
    )
    state = pickle.loads(pickle.dumps(case.whole()))
    assert same(copy.finish(state).to_pylist(), case.answers(case.whole()), slack=0)


@every_aggregate
@quick
@given(data=st.data())
def test_nothing_given_is_changed(cls: type[Aggregate], data: st.DataObject) -> None:
    case = data.draw(tuples(cls))
    groups, arguments, times = case.arrays(range(len(case.groups)))
    before = pickle.dumps((groups, arguments, times))
    for array in (groups, times):
        array.flags.writeable = False
    state = case.aggregate.reduce(case.aggregate.zero(GROUPS), groups, arguments, times)
    assert pickle.dumps((groups, arguments, times)) == before

    kept, other = pickle.dumps(state), case.whole()
    merged = case.aggregate.merge(state, other)
    case.aggregate.finish(state)
    case.aggregate.pack(state)
    assert pickle.dumps(state) == kept
    # Writing into a merged state, or into some groups of a state, leaves those it came from alone.
    case.aggregate.reduce(merged, groups, arguments, times)
    chosen = np.arange(GROUPS)
    some = case.aggregate.reduce(take(state, chosen), groups, arguments, times)
    assert pickle.dumps(state) == kept
    put(other, chosen, some)
    assert same(case.answers(other), case.answers(case.aggregate.merge(state, state)))


@every_ordered
@quick
@given(data=st.data())
def test_the_order_of_arrival_decides_between_tuples_of_one_time(cls: type[Aggregate], data: st.DataObject) -> None:
    """However tuples are cut into parts that are merged; numbers may be given after the parts were made."""
    case = data.draw(tuples(cls))
    plain = case.aggregate
    told, size = plain.told_of_arrival(), len(case.groups)
    arrived = data.draw(st.permutations(range(size)))
    # The oracle: with the arrival for a time stamp there are no ties.
    groups, arguments, times = case.arrays(range(size))
    places = np.lexsort((np.array(arrived, dtype=np.int64), times))
    ranks = np.empty(size, dtype=np.int64)
    ranks[places] = np.arange(size)
    if cls.arity == 2 and cls.name in KEYED:
        chosen = [_keyed(case, g, arrived, cls.name == "max_by") for g in range(GROUPS)]
    else:
        chosen = case.answers(plain.reduce(plain.zero(GROUPS), groups, arguments, ranks))
    cut = data.draw(st.integers(0, size))
    parts = []
    for part in (list(range(cut)), list(range(cut, size))):
        groups, arguments, times = case.arrays(part)
        numbers = pa.array([arrived[i] - 100 for i in part], pa.int64())
        packed = told.pack(told.reduce(told.zero(GROUPS), groups, [*arguments, numbers], times))
        parts.append(told.unpack(told.renumbered(packed, lambda n: n + 100)))
    for merged in (told.merge(*parts), told.merge(*reversed(parts))):
        assert same(case.answers(merged), chosen)


def _keyed(case: Tuples, group: int, arrived: Sequence[int], largest: bool) -> Any:
    rows = [i for i, g in enumerate(case.groups) if g == group and case.columns[1][i] is not None]
    if not rows:
        return None
    codes = encode(pa.array([case.columns[1][i] for i in rows], type=case.aggregate.arguments[1]))
    best = (max if largest else min)(codes)
    return case.columns[0][max((arrived[i], i) for i, code in zip(rows, codes, strict=True) if code == best)[1]]


SQL = {
    "count_star": "count(*)",
    "first": "list(x ORDER BY t, x NULLS LAST)[1]",
    "last": "list(x ORDER BY t, x NULLS FIRST)[-1]",
    "min_by": "list(x ORDER BY y, x NULLS LAST) FILTER (y IS NOT NULL)[1]",
    "max_by": "list(x ORDER BY y DESC, x NULLS LAST) FILTER (y IS NOT NULL)[1]",
    "count_distinct": "count(DISTINCT x)",
    "sum_distinct": "sum(DISTINCT x)",
    "avg_distinct": "avg(DISTINCT x)",
    "median": "median(x::DOUBLE)",
    "quantile": "quantile_cont(x::DOUBLE, 0.3)",
    "string_agg": "string_agg(x, '-' ORDER BY t, x)",
    "array_agg": "coalesce(array_agg(x ORDER BY t, x) FILTER (x IS NOT NULL), [])",
    **{name: f"{name}(x::DOUBLE)" for name in APPROXIMATE if not name.startswith("co")},
    **{name: f"{name}(x::DOUBLE, y::DOUBLE)" for name in APPROXIMATE if name.startswith("co")},
}
MODE = """
    SELECT g, min(x) FILTER (c = most) FROM (
        SELECT g, x, c, max(c) OVER (PARTITION BY g) AS most
        FROM (SELECT g, x, count(x) AS c FROM tuples GROUP BY g, x)
    ) GROUP BY g
"""


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET threads = 1; SET TimeZone = 'UTC'").complete()
    return connection


@every_aggregate
@quick
@given(data=st.data())
def test_agrees_with_duckdb(cls: type[Aggregate], duck: duckdb.DuckDBPyConnection, data: st.DataObject) -> None:
    case = data.draw(tuples(cls, tame=True))
    groups, arguments, times = case.arrays(range(len(case.groups)))
    columns = {"g": groups, "t": times, **dict(zip("xy", arguments, strict=False))}
    duck.register("tuples", pa.table(columns))
    sql = f"SELECT g, {SQL.get(cls.name, f'{cls.name}(x)')} FROM tuples GROUP BY g"
    table = duck.sql(MODE if cls.name == "mode" else sql).to_arrow_table()
    theirs = dict(zip(*(column.to_pylist() for column in table.columns), strict=True))
    ours = case.answers(case.whole())
    # DuckDB divides decimals as floats; ours are rounded to the last of their digits.
    slack = 10.0**-case.aggregate.result.scale if pa.types.is_decimal(case.aggregate.result) else 1e-9
    for group, their in theirs.items():
        our = ours[group]
        if cls.name == "corr" and our is None:
            assert their is None or math.isnan(their)
        elif isinstance(our, Decimal) and isinstance(their, float):
            assert same(float(our), their, slack)
        else:
            assert same(our, their), (case, our, their)
