"""SELECT at run time: groups and their aggregates, order, duplicates, and SELECTs that stand for one value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import cmp_to_key
from typing import Any

from millstream.errors import RunError
from millstream.expressions.functions.comparisons import lt
from millstream.expressions.functions.decimals import EXACT, decimal
from millstream.expressions.functions.floats import float32
from millstream.expressions.functions.function import Maybe
from millstream.udas.generated.states import State
from millstream.udas.generated.tables import key

Rows = list[tuple[Any, ...]]
Values = list[Any]
DEEPEST = 60
"""How many aggregates may stand inside each other before it is taken for an endless recursion."""

_depth = 0


def single(rows: Sequence[tuple[Any, ...]]) -> Maybe:
    """The value of a SELECT that stands for one."""
    if len(rows) > 1:
        raise RunError(
            f"a subquery that stands for one value gave {len(rows)} rows\n"
            "help: let it give one, as with max(...) or LIMIT 1"
        )
    return rows[0][0] if rows else None


def distinct(rows: Iterable[tuple[Any, ...]]) -> Rows:
    """Every row once, in the order of their first."""
    return list({tuple(map(key, row)): row for row in reversed(list(rows))}.values())[::-1]


def ordered(rows: Iterable[tuple[tuple[Any, ...], tuple[Any, ...]]], terms: Sequence[tuple[bool, bool]]) -> Rows:
    """Rows that come with the values to order them by; a term is whether it descends and whether NULL is first."""

    def compare(left: Any, right: Any) -> int:
        for a, b, (descending, nulls_first) in zip(left[1], right[1], terms, strict=True):
            if a is None or b is None:
                if a is not b:
                    return -1 if (a is None) == nulls_first else 1
            elif lt(a, b):
                return 1 if descending else -1
            elif lt(b, a):
                return -1 if descending else 1
        return 0

    return [row for row, _ in sorted(rows, key=cmp_to_key(compare))]


def outer(rows: list[Any], width: int) -> list[Any]:
    """The rows that a LEFT JOIN found, or one of NULLs."""
    return rows or [[None] * (width + 1)]


Collect = Callable[[Values], Any]


def grouped(rows: Iterable[tuple[Any, ...]], keys: int, collectors: Sequence[tuple[int, int, bool, Any]]) -> Rows:
    """The keys and answers of each group; rows have the keys, then for each aggregate a condition and its arguments.

    A collector says where in a row its part begins and ends, whether it is user-defined, and what computes it.
    User-defined aggregates may give any number of rows: so does their group.
    """
    groups: dict[tuple[Any, ...], Rows] = {} if keys else {(): []}
    for row in rows:
        groups.setdefault(tuple(map(key, row[:keys])), []).append(row)
    result: Rows = []
    for own, members in groups.items():
        answers = []
        for begin, end, user, collect in collectors:
            answers.append((collect([row[begin + 1 : end] for row in members if row[begin]]), user))
        several = [len(answer) for answer, user in answers if user]
        for number in range(max(several) if several else 1):
            values = ((a[number] if number < len(a) else None) if user else a for a, user in answers)
            result.append((*own, *values))
    return result


def run(kind: Callable[[], State], column: int) -> Collect:
    """A user-defined aggregate over the rows of a group: a column of what it returns."""

    def collect(rows: Values) -> Any:
        global _depth  # noqa: PLW0603  (how deep calls stand inside each other is one number for the process)
        if _depth >= DEEPEST:
            raise RunError(
                f"aggregates call each other more than {DEEPEST} deep\n"
                "help: a recursive aggregate must come to an end: call it over fewer rows each time"
            )
        _depth += 1
        try:
            state = kind()
            result: Rows = []
            for row in rows:
                result += state.add(*row)
            if state.seen:
                result += state.terminate()
        finally:
            _depth -= 1
        return [row[column] for row in result]

    return collect


def unique(collect: Collect) -> Collect:
    """An aggregate of distinct values."""
    return lambda rows: collect(distinct(rows))


# -- the built-in aggregates: of the tuples of arguments of a group ----------------------------------------------------


def _given(rows: Values) -> Values:
    return [row[0] for row in rows if row[0] is not None]


def count_star(rows: Values) -> int:
    """The number of rows."""
    return len(rows)


def count(rows: Values) -> int:
    """The number of rows without a NULL among their values."""
    return sum(all(v is not None for v in row) for row in rows)


def sum_int64(rows: Values) -> Maybe:
    """The total of whole numbers, NULL if it does not fit BIGINT."""
    values = _given(rows)
    total = sum(values)
    return total if values and -(2**63) <= total < 2**63 else None


def _total(values: Values) -> float:
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):  # too great, or both infinities
        return float(sum(values))


def sum_float64(rows: Values) -> Maybe:
    """The total, rounded once."""
    values = _given(rows)
    return _total(values) if values else None


def _exact_total(values: Values) -> Decimal:
    total = Decimal(0)
    for value in values:
        total = EXACT.add(total, value)
    return total


def sum_decimal(precision: int, scale: int) -> Collect:
    """The total of decimals, NULL if it does not fit."""

    def total(rows: Values) -> Maybe:
        values = _given(rows)
        return decimal(_exact_total(values), precision, scale) if values else None

    return total


def avg_float64(rows: Values) -> Maybe:
    """The mean."""
    values = _given(rows)
    return _total(values) / len(values) if values else None


def avg_decimal(precision: int, scale: int) -> Collect:
    """The mean of decimals."""

    def mean(rows: Values) -> Maybe:
        values = _given(rows)
        return decimal(EXACT.divide(_exact_total(values), Decimal(len(values))), precision, scale) if values else None

    return mean


def lowest(rows: Values) -> Maybe:
    """The smallest."""
    found = None
    for value in _given(rows):
        if found is None or lt(value, found):
            found = value
    return found


def highest(rows: Values) -> Maybe:
    """The greatest."""
    found = None
    for value in _given(rows):
        if found is None or lt(found, value):
            found = value
    return found


def min_by(rows: Values) -> Maybe:
    """The first argument where the second is smallest; of several the last."""
    return _by(rows, lambda a, b: not lt(b, a))


def max_by(rows: Values) -> Maybe:
    """The first argument where the second is greatest; of several the last."""
    return _by(rows, lambda a, b: not lt(a, b))


def _by(rows: Values, better: Callable[[Any, Any], Any]) -> Maybe:
    found: Maybe = None
    for value, by in rows:
        if by is not None and (found is None or better(by, found[1])):
            found = (value, by)
    return found[0] if found else None


def first(rows: Values) -> Maybe:
    """The first, also if it is NULL."""
    return rows[0][0] if rows else None


def last(rows: Values) -> Maybe:
    """The last, also if it is NULL."""
    return rows[-1][0] if rows else None


def bool_and(rows: Values) -> Maybe:
    """Whether all are true."""
    values = _given(rows)
    return all(values) if values else None


def bool_or(rows: Values) -> Maybe:
    """Whether one is true."""
    values = _given(rows)
    return any(values) if values else None


def _squares(values: Values) -> float:
    mean = _total(values) / len(values)
    return _total([(v - mean) ** 2 for v in values])


def var_pop(rows: Values) -> Maybe:
    """The variance of all."""
    values = _given(rows)
    return _squares(values) / len(values) if values else None


def var_samp(rows: Values) -> Maybe:
    """The variance of a sample; NULL of a single value."""
    values = _given(rows)
    return _squares(values) / (len(values) - 1) if len(values) > 1 else None


def stddev_pop(rows: Values) -> Maybe:
    """The standard deviation of all."""
    variance = var_pop(rows)
    return None if variance is None else math.sqrt(variance)


def stddev_samp(rows: Values) -> Maybe:
    """The standard deviation of a sample."""
    variance = var_samp(rows)
    return None if variance is None else math.sqrt(variance)


def median(rows: Values) -> Maybe:
    """The value in the middle."""
    values = sorted(_given(rows), key=lambda v: (math.isnan(v), v))
    middle = len(values) // 2
    if not values:
        return None
    return float(values[middle]) if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def string_agg(separator: str) -> Collect:
    """Texts joined by another."""
    return lambda rows: separator.join(values) if (values := _given(rows)) else None


def narrow(collect: Collect) -> Collect:
    """An answer with the digits that FLOAT has."""
    return lambda rows: float32(collect(rows))
