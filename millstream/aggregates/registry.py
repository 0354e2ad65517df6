"""The built-in aggregates by name."""

from __future__ import annotations

from millstream.aggregates.array_agg import ArrayAgg
from millstream.aggregates.avg import Avg
from millstream.aggregates.bools import BoolAnd, BoolOr
from millstream.aggregates.contract import Aggregate
from millstream.aggregates.count import Count
from millstream.aggregates.count_star import CountStar
from millstream.aggregates.covariance import Corr, CovarPop, CovarSamp
from millstream.aggregates.distinct import AvgDistinct, CountDistinct, SumDistinct
from millstream.aggregates.first import First
from millstream.aggregates.last import Last
from millstream.aggregates.max import Max
from millstream.aggregates.max_by import MaxBy
from millstream.aggregates.min import Min
from millstream.aggregates.min_by import MinBy
from millstream.aggregates.mode import Mode
from millstream.aggregates.quantile import Median, Quantile
from millstream.aggregates.string_agg import StringAgg
from millstream.aggregates.sum import Sum
from millstream.aggregates.variance import StddevPop, StddevSamp, VarPop, VarSamp

BUILT_IN: tuple[type[Aggregate], ...] = (
    *(Count, CountStar, Sum, Avg, Min, Max),
    *(VarSamp, VarPop, StddevSamp, StddevPop, CovarSamp, CovarPop, Corr),
    *(First, Last, MinBy, MaxBy, BoolAnd, BoolOr),
    *(CountDistinct, SumDistinct, AvgDistinct, Median, Quantile, Mode, StringAgg, ArrayAgg),
)

ALIASES = {
    "mean": "avg",
    "variance": "var_samp",
    "stddev": "stddev_samp",
    "std": "stddev_samp",
    "every": "bool_and",
    "some": "bool_or",
    "any": "bool_or",
    "first_value": "first",
    "last_value": "last",
    "percentile": "quantile",
    "quantile_cont": "quantile",
    "percentile_cont": "quantile",
    "listagg": "string_agg",
    "collect_list": "array_agg",
    "arg_min": "min_by",
    "arg_max": "max_by",
}

DISTINCT = {
    "count": "count_distinct",
    "sum": "sum_distinct",
    "avg": "avg_distinct",
    **{name: name for name in ("min", "max", "bool_and", "bool_or")},
}
"""What computes an aggregate of distinct values: some do not mind how often they see one."""

_BY_NAME = {aggregate.name: aggregate for aggregate in BUILT_IN}


def find(name: str, distinct: bool = False) -> type[Aggregate] | None:
    """The aggregate of a name in any case, or None.

    >>> find("AVG")
    <class 'millstream.aggregates.avg.Avg'>
    >>> find("count", distinct=True)
    <class 'millstream.aggregates.distinct.CountDistinct'>
    >>> find("nonsense") is None
    True
    """
    name = name.lower()
    name = ALIASES.get(name, name)
    if distinct:
        name = DISTINCT.get(name, "")
    return _BY_NAME.get(name)


def names() -> list[str]:
    """All names, without aliases."""
    return sorted(_BY_NAME)
