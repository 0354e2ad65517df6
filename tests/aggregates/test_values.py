"""Answers worked out by hand: NULLs, overflow, NaN, empty groups, rounding, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millstream.aggregates.registry import find, names

NAN, INF = math.nan, math.inf
MOST = 2**63 - 1


def answer(name: str, kind: pa.DataType, values: Sequence[Any], *more: pa.Array, times: Sequence[int] = ()) -> Any:
    """The answer over all values as one group."""
    cls = find(name)
    assert cls is not None
    aggregate = cls([kind, *(column.type for column in more)])
    arguments = [pa.array(values, type=kind), *more]
    stamps = np.array(times or range(len(values)), dtype=np.int64)
    state = aggregate.reduce(aggregate.zero(1), np.zeros(len(values), dtype=np.int64), arguments, stamps)
    (found,) = aggregate.finish(state).to_pylist()
    return found


@pytest.mark.parametrize("name", [n for n in names() if n not in ("count_star", "string_agg", "bool_and", "bool_or")])
@pytest.mark.parametrize("values", [[], [None, None]])
def test_of_nothing(name: str, values: list[Any]) -> None:
    cls = find(name)
    assert cls is not None
    more = [pa.array([0.5] * len(values), type=pa.float64())] if cls.arity == 2 else []
    nothing = {"count": 0, "count_distinct": 0, "array_agg": []}.get(name)
    assert answer(name, pa.int64(), values, *more) == nothing


def test_count_star_counts_tuples_and_count_values() -> None:
    cls = find("count_star")
    assert cls is not None
    count = cls([])
    state = count.reduce(count.zero(2), np.array([0, 0]), [], np.array([1, 2]))
    assert count.finish(state).to_pylist() == [2, 0]
    assert answer("count", pa.int32(), [1, None, 3]) == 2
    assert answer("count", pa.float64(), [NAN, None]) == 1


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([MOST, 1], None),
        ([MOST, 1, -1], MOST),
        ([-1, MOST, 1], MOST),
        ([MOST] * 5 + [-MOST] * 5 + [7], 7),
        ([-MOST - 1, -1], None),
        ([-MOST, -1], -MOST - 1),
        ([-MOST - 1] * 4, None),
        ([None, 4, None], 4),
    ],
)
def test_sum_overflows_only_if_the_true_total_does(values: list[int | None], total: int | None) -> None:
    assert answer("sum", pa.int64(), values) == total


def test_sum_gives_back_what_overflowed() -> None:
    cls = find("sum")
    assert cls is not None
    total = cls([pa.int64()])
    one = total.reduce(total.zero(1), np.array([0]), [pa.array([MOST])], np.array([1]))
    two = total.merge(one, one)
    assert total.finish(two).to_pylist() == [None]
    assert total.finish(total.remove(two, one)).to_pylist() == [MOST]


def test_sum_of_few_tuples_in_many_groups() -> None:
    cls = find("sum")
    assert cls is not None
    total = cls([pa.int64()])
    groups = np.array([999, 999, 3])
    state = total.reduce(total.zero(1000), groups, [pa.array([2**40, 2**40, -5])], groups)
    found = total.finish(state)
    assert (found[999].as_py(), found[3].as_py(), found.null_count) == (2**41, -5, 998)


def test_types_follow_spark() -> None:
    decimal = pa.decimal128
    for name, kind, result in [
        ("sum", pa.int8(), pa.int64()),
        ("sum", pa.float32(), pa.float64()),
        ("sum", decimal(9, 2), decimal(19, 2)),
        ("sum", decimal(35, 2), decimal(38, 2)),
        ("avg", pa.int64(), pa.float64()),
        ("avg", decimal(9, 2), decimal(13, 6)),
        ("avg", decimal(38, 36), decimal(38, 38)),
        ("min", pa.int16(), pa.int16()),
        ("max", pa.date32(), pa.date32()),
        ("median", decimal(9, 2), pa.float64()),
        ("array_agg", pa.string(), pa.list_(pa.string())),
    ]:
        cls = find(name)
        assert cls is not None
        assert cls([kind]).result == result, (name, kind)


def test_decimals_are_exact() -> None:
    wide, narrow = pa.decimal128(38, 2), pa.decimal128(9, 2)
    top = Decimal("9" * 36 + ".99")
    low = top.copy_negate()  # a minus sign would round to the context
    assert answer("sum", narrow, [Decimal("0.10")] * 3) == Decimal("0.30")
    assert answer("sum", wide, [top, Decimal("0.01")]) is None
    assert answer("sum", wide, [top, Decimal("0.01"), Decimal("-0.01")]) == top
    assert answer("sum", wide, [low, low, low, top, top]) == low
    assert answer("sum", wide, [top, low, None]) == 0
    assert answer("max", wide, [low, top, None]) == top
    assert answer("min", narrow, [Decimal("-1.50"), Decimal("1.50")]) == Decimal("-1.50")


def test_avg_rounds_decimals_half_up() -> None:
    kind = pa.decimal128(9, 2)
    assert answer("avg", kind, [Decimal(1), Decimal(1), Decimal(0)]) == Decimal("0.666667")
    assert answer("avg", kind, [Decimal(-1), Decimal(-1), Decimal(0)]) == Decimal("-0.666667")
    # 0.01 / 32 = 0.0003125, which lies halfway at six digits of 0.000312 and 0.000313.
    assert answer("avg", kind, [Decimal("0.01")] + [Decimal(0)] * 31) == Decimal("0.000313")
    assert answer("avg", kind, [Decimal("-0.01")] + [Decimal(0)] * 31) == Decimal("-0.000313")
    long = pa.decimal128(30, 2)
    large = Decimal("1234567890123456789012345678.01")
    assert answer("avg", long, [large, large.copy_negate(), Decimal("0.01")]) == Decimal("0.003333")
    assert answer("avg", long, [large, large]) == large


def test_avg_of_ints_divides_the_exact_total() -> None:
    assert answer("avg", pa.int64(), [MOST, MOST, -MOST, -MOST, 5]) == 1.0
    assert answer("avg", pa.int64(), [MOST, MOST]) == float(MOST)


def test_nan_is_the_greatest_number() -> None:
    assert answer("min", pa.float64(), [NAN, INF, -1.0]) == -1.0
    assert math.isnan(answer("max", pa.float64(), [NAN, INF, -1.0]))
    assert math.isnan(answer("min", pa.float32(), [NAN, NAN]))
    assert answer("max", pa.float64(), [-INF, None]) == -INF
    assert answer("count_distinct", pa.float64(), [NAN, -NAN, 0.0, -0.0]) == 2
    assert math.isnan(answer("mode", pa.float64(), [NAN, NAN, 1.0]))
    assert answer("max_by", pa.string(), ["a", "b"], pa.array([NAN, INF])) == "a"
    assert math.isnan(answer("sum", pa.float64(), [INF, -INF]))
    assert math.isnan(answer("avg", pa.float64(), [NAN, 1.0]))


def test_min_and_max_reach_the_ends_of_their_types() -> None:
    assert answer("min", pa.int64(), [MOST]) == MOST
    assert answer("max", pa.int64(), [-MOST - 1]) == -MOST - 1
    assert answer("min", pa.string(), ["b", "", "a"]) == ""
    assert answer("max", pa.string(), ["z", "\u00e9", "\U0001f600", "\uffff"]) == "\U0001f600"
    assert answer("max", pa.bool_(), [False, None]) is False
    assert answer("min", pa.date32(), [date(1969, 1, 1), date(2020, 1, 1)]) == date(1969, 1, 1)
    late = datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=UTC)
    assert answer("max", pa.timestamp("us", "UTC"), [late, datetime(1900, 1, 1, tzinfo=UTC)]) == late


def test_variance() -> None:
    assert answer("var_samp", pa.int64(), [4]) is None
    assert answer("var_pop", pa.int64(), [4]) == 0.0
    assert answer("stddev_samp", pa.float64(), [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16]) == pytest.approx(30**0.5)
    assert answer("var_samp", pa.float64(), [0.1] * 7) == 0.0
    assert answer("corr", pa.float64(), [0.1] * 7, pa.array([1.0, 2, 3, 4, 5, 6, 7])) is None
    assert answer("covar_samp", pa.int64(), [1, 2, None, 9], pa.array([1, 2, 3, None])) == 0.5


def test_first_and_last_go_by_time_then_value() -> None:
    times = [20, 10, 10, 20, 15]
    assert answer("first", pa.int64(), [1, 5, 4, 9, None], times=times) == 4
    assert answer("last", pa.int64(), [1, 5, 4, 9, None], times=times) == 9
    assert answer("first", pa.string(), ["a", "c", "b", "d", None], times=times) == "b"
    assert answer("first", pa.int64(), [3], times=[MOST]) == 3
    assert answer("array_agg", pa.int64(), [1, 5, 4, 9, None], times=times) == [4, 5, 1, 9]


def test_nulls_count_as_they_do_in_spark() -> None:
    """A NULL is as good a first, last or best value as any other; a key that is NULL is none."""
    times, keys = [1, 2, 3], pa.array([1, 3, None])
    for kind, some in ((pa.int64(), 7), (pa.string(), "a")):
        assert answer("first", kind, [None, some, some], times=times) is None
        assert answer("last", kind, [some, some, None], times=times) is None
        assert answer("last", kind, [None, None, some], times=times) == some
        assert answer("max_by", kind, [some, None, some], keys) is None
        assert answer("min_by", kind, [some, None, None], keys) == some
        assert answer("min_by", kind, [some, some, some], pa.array([None, None, None], pa.int64())) is None
        assert answer("array_agg", kind, [None, some, None], times=times) == [some]


def test_min_by_and_max_by_take_the_smallest_of_several() -> None:
    y = pa.array([1, 2, 2, 1, None, 3])
    assert answer("min_by", pa.string(), ["d", "b", "a", "c", "0", None], y) == "c"
    assert answer("max_by", pa.string(), ["d", "b", "a", "c", "0", None], y) is None
    assert answer("max_by", pa.string(), ["d", "b", "a", "c", "0"], y[:5]) == "a"


def test_bools() -> None:
    assert answer("bool_and", pa.bool_(), [True, None]) is True
    assert answer("bool_and", pa.bool_(), []) is None
    assert answer("any", pa.bool_(), [None, False]) is False
    assert answer("every", pa.bool_(), [True, False]) is False


def test_distinct() -> None:
    assert answer("sum_distinct", pa.int64(), [MOST, MOST, 1, 1, -1]) == MOST
    assert answer("avg_distinct", pa.decimal128(5, 1), [Decimal(1), Decimal(1), Decimal(2)]) == Decimal("1.5")
    assert find("avg", distinct=True) is find("avg_distinct")
    assert find("max", distinct=True) is find("max")
    assert find("corr", distinct=True) is None


def test_quantile() -> None:
    def fractions(p: float) -> pa.Array:
        return pa.array([p] * 4)

    assert answer("quantile", pa.int64(), [1, 2, 3, None], fractions(0.25)) == 1.5
    assert answer("percentile", pa.int64(), [1, 2, 3, 4], fractions(1.0)) == 4.0
    assert answer("median", pa.decimal128(4, 1), [Decimal("1.5"), Decimal("2.5")]) == 2.0
    assert answer("median", pa.float64(), [INF, 1.0, INF]) == INF
    with pytest.raises(ValueError, match=r"the second argument of quantile must be from 0 to 1, not 2\.0"):
        answer("quantile", pa.int64(), [1, 2, 3, 4], fractions(2.0))
    with pytest.raises(ValueError, match=r"must be a constant, not 0\.1 here and 0\.2 there"):
        answer("quantile", pa.int64(), [1, 2], pa.array([0.1, 0.2]))


def test_string_agg() -> None:
    assert answer("string_agg", pa.string(), ["b", "a", None], times=[1, 1, 0]) == "a,b"
    assert answer("string_agg", pa.string(), ["b", "a"], pa.array(["; "] * 2), times=[1, 2]) == "b; a"
    assert answer("string_agg", pa.string(), [None]) is None
    assert answer("string_agg", pa.string(), ["", ""]) == ","


@pytest.mark.parametrize(
    ("name", "kinds", "text"),
    [
        ("sum", [pa.string()], "sum does not take string: it wants a number"),
        ("avg", [pa.date32()], r"avg does not take date32\[day\]: it wants a number"),
        ("sum", [pa.bool_()], "sum does not take bool: it wants a number"),
        ("min", [pa.list_(pa.int64())], "min does not take list<.*>: it wants a type that can be ordered"),
        ("stddev", [pa.string()], "stddev_samp does not take string: it wants a number"),
        ("corr", [pa.int64(), pa.string()], "corr does not take string: it wants two numbers"),
        ("every", [pa.int64()], "bool_and does not take int64: it wants a boolean"),
        ("median", [pa.bool_()], "median does not take bool: it wants a number"),
        ("string_agg", [pa.int64(), pa.string()], "string_agg does not take int64: it wants a string"),
        ("sum_distinct", [pa.string()], "sum does not take string"),
    ],
)
def test_refusals_name_the_aggregate_and_the_type(name: str, kinds: list[pa.DataType], text: str) -> None:
    cls = find(name)
    assert cls is not None
    with pytest.raises(TypeError, match=text):
        cls(kinds)
