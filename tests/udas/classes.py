"""Aggregates in Python, as users write them: the spread of numbers in every form, and some that go wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class Spread:
    """States are any objects, here lists, which reduce and merge change."""

    def zero(self) -> list[int]:
        return []

    def reduce(self, state: list[int], x: int) -> list[int]:
        state.append(x)
        state[:] = [min(state), max(state)]
        return state

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        a += b
        a[:] = [min(a), max(a)]
        return a

    def finish(self, state: list[int]) -> int | None:
        return state[-1] - state[0]


class StructSpread:
    """A struct that is a dictionary."""

    state: ClassVar[dict[str, type]] = {"low": int, "high": int}

    def zero(self) -> dict[str, int]:
        return {"low": int(MOST), "high": int(LEAST)}

    def reduce(self, state: dict[str, int], x: int) -> dict[str, int]:
        return {"low": min(state["low"], x), "high": max(state["high"], x)}

    def merge(self, a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
        return {"low": min(a["low"], b["low"]), "high": max(a["high"], b["high"])}

    def finish(self, state: dict[str, int]) -> int:
        if state["low"] > state["high"]:
            raise ValueError("nothing seen")
        return state["high"] - state["low"]


@dataclass
class Ends:
    low: int
    high: int


class DataclassSpread:
    """A struct that is a dataclass."""

    state = Ends

    def zero(self) -> Ends:
        return Ends(int(MOST), int(LEAST))

    def reduce(self, state: Ends, x: int) -> Ends:
        state.low, state.high = min(state.low, x), max(state.high, x)
        return state

    def merge(self, a: Ends, b: Ends) -> Ends:
        a.low, a.high = min(a.low, b.low), max(a.high, b.high)
        return a

    def finish(self, state: Ends) -> int | None:
        return state.high - state.low if state.low <= state.high else None


class BatchSpread:
    """Batch forms only."""

    def zero_batch(self, groups: int) -> dict[str, Any]:
        return {"low": np.full(groups, MOST), "high": np.full(groups, LEAST)}

    def reduce_batch(self, state: dict[str, Any], groups: Any, arguments: Any, times: Any) -> dict[str, Any]:
        np.minimum.at(state["low"], groups, arguments[0])
        np.maximum.at(state["high"], groups, arguments[0])
        return state

    def merge_batch(self, a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
        return {"low": np.minimum(a["low"], b["low"]), "high": np.maximum(a["high"], b["high"])}

    def finish_batch(self, state: dict[str, Any]) -> Any:
        return np.ma.masked_array(state["high"] - state["low"], state["low"] > state["high"])


class Mean:
    """One that can remove, in both forms."""

    state: ClassVar[dict[str, type]] = {"total": int, "count": int}

    def zero(self) -> dict[str, int]:
        return {"total": 0, "count": 0}

    def reduce(self, state: dict[str, int], x: int) -> dict[str, int]:
        return {"total": state["total"] + x, "count": state["count"] + 1}

    def merge(self, a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
        return {name: a[name] + b[name] for name in a}

    def remove(self, state: dict[str, int], part: dict[str, int]) -> dict[str, int]:
        return {name: state[name] - part[name] for name in state}

    def finish(self, state: dict[str, int]) -> float:
        return state["total"] / state["count"]


class BatchMean(Mean):
    def reduce_batch(self, state: dict[str, Any], groups: Any, arguments: Any, times: Any) -> dict[str, Any]:
        np.add.at(state["total"], groups, arguments[0])
        np.add.at(state["count"], groups, 1)
        return state

    def merge_batch(self, a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
        return {name: a[name] + b[name] for name in a}

    def remove_batch(self, state: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
        return {name: state[name] - part[name] for name in state}

    def finish_batch(self, state: dict[str, Any]) -> Any:
        return np.ma.masked_invalid(state["total"] / state["count"])


class Commonest:
    """A state that grows, removes, and answers with two columns."""

    def zero(self) -> Counter[int]:
        return Counter()

    def reduce(self, state: Counter[int], x: int) -> Counter[int]:
        state[x] += 1
        return state

    def merge(self, a: Counter[int], b: Counter[int]) -> Counter[int]:
        a.update(b)
        return a

    def remove(self, state: Counter[int], part: Counter[int]) -> Counter[int]:
        return state - part

    def finish(self, state: Counter[int]) -> tuple[int, int] | None:
        return max(state.items(), key=lambda item: (item[1], item[0])) if state else None


class Together:
    """Arrays: all values of them in their order, with NULLs; and two rows at once."""

    nulls = True

    def zero(self) -> list[int | None]:
        return []

    def reduce(self, state: list[int | None], values: list[int | None] | None) -> list[int | None]:
        return [*state, *(values or [None])]

    def merge(self, a: list[int | None], b: list[int | None]) -> list[int | None]:
        return [*a, *b]

    def finish(self, state: list[int | None]) -> list[tuple[list[int] | None, list[str], int]]:
        known = sorted(v for v in state if v is not None)
        return [(known, [str(v) for v in known], len(state)), (None, [], len(known))]


class Fragile(Mean):
    """Fails for one value."""

    def reduce(self, state: dict[str, int], x: int) -> dict[str, int]:
        return {"total": state["total"] + 10 // (x - 13), "count": state["count"] + 1}


class NeedsArguments(Mean):
    def __init__(self, size: int) -> None:
        self.size = size


class NoMerge:
    def zero(self) -> int:
        return 0

    def reduce(self, state: int, x: int) -> int:
        return state + x

    def finish(self, state: int) -> int:
        return state
