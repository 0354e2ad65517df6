"""The aggregates in Python that `uda` measures, as a user would write them: average and maximum, both forms."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

Values = dict[str, Any]
"""A state: a number for each field, or in the batch forms an array."""


class Average:
    """The average by a sum and a count, one call for each tuple."""

    state: ClassVar[dict[str, type]] = {"total": float, "count": int}
    pure = True

    def zero(self) -> Values:
        """Nothing seen."""
        return {"total": 0.0, "count": 0}

    def reduce(self, state: Values, x: float) -> Values:
        """One more tuple."""
        return {"total": state["total"] + x, "count": state["count"] + 1}

    def merge(self, a: Values, b: Values) -> Values:
        """What both have seen."""
        return {"total": a["total"] + b["total"], "count": a["count"] + b["count"]}

    def finish(self, state: Values) -> float | None:
        """The average, None of nothing."""
        return state["total"] / state["count"] if state["count"] else None


class BatchAverage(Average):
    """The same with batch forms: the tuples of all groups at once."""

    def reduce_batch(self, state: Values, groups: Any, arguments: Any, times: Any) -> Values:
        """All tuples."""
        size = len(state["total"])
        state["total"] += np.bincount(groups, arguments[0], size)
        state["count"] += np.bincount(groups, minlength=size)
        return state

    def merge_batch(self, a: Values, b: Values) -> Values:
        """Group by group."""
        return {"total": a["total"] + b["total"], "count": a["count"] + b["count"]}

    def finish_batch(self, state: Values) -> Any:
        """The averages, masked where there is none."""
        nothing = state["count"] == 0
        return np.ma.masked_array(state["total"] / np.where(nothing, 1, state["count"]), nothing)


class Highest:
    """The maximum, one call for each tuple."""

    state: ClassVar[dict[str, type]] = {"high": float}
    pure = True

    def zero(self) -> Values:
        """Nothing seen."""
        return {"high": float("-inf")}

    def reduce(self, state: Values, x: float) -> Values:
        """One more tuple."""
        return {"high": max(state["high"], x)}

    def merge(self, a: Values, b: Values) -> Values:
        """What both have seen."""
        return {"high": max(a["high"], b["high"])}

    def finish(self, state: Values) -> float:
        """The maximum."""
        high: float = state["high"]
        return high


class BatchHighest(Highest):
    """The same with batch forms."""

    def reduce_batch(self, state: Values, groups: Any, arguments: Any, times: Any) -> Values:
        """All tuples."""
        np.maximum.at(state["high"], groups, arguments[0])
        return state

    def merge_batch(self, a: Values, b: Values) -> Values:
        """Group by group."""
        return {"high": np.maximum(a["high"], b["high"])}

    def finish_batch(self, state: Values) -> Any:
        """The maxima."""
        return state["high"]
