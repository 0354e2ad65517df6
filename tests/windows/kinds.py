"""Windows of every kind, as drawn by property tests, and how each is written in a query."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from inspect import isabstract
from typing import Any

from hypothesis import strategies as st

import millstream.windows
from millstream.windows import (
    Cumulate,
    Landmark,
    OverRange,
    OverRows,
    Paned,
    Rows,
    Session,
    SlideByTuple,
    Sliding,
    Tuple,
    Whole,
    Window,
    tumbling,
)

SIZES = st.integers(1, 12)
ORIGINS = st.integers(-20, 20)
ORDERS = st.sampled_from(["rank", "row"])
PRECEDING = st.none() | st.integers(0, 8)

DRAWN: dict[type[Window[Any]], st.SearchStrategy[Window[Any]]] = {
    Sliding: st.builds(Sliding, SIZES, SIZES, ORIGINS) | st.builds(tumbling, SIZES, ORIGINS),
    Cumulate: st.builds(lambda step, n, origin: Cumulate(step, step * n, origin), SIZES, st.integers(1, 4), ORIGINS),
    Landmark: st.builds(Landmark, SIZES, ORIGINS),
    Whole: st.just(Whole()),
    Session: st.builds(Session, SIZES),
    Rows: st.builds(Rows, SIZES, SIZES, st.booleans(), ORDERS),
    SlideByTuple: st.builds(SlideByTuple, SIZES, st.integers(1, 4), ORDERS),
    OverRange: st.builds(OverRange, PRECEDING, st.none() | SIZES, ORIGINS)
    | st.builds(lambda reach: OverRange(reach, active=True), st.integers(0, 8)),
    OverRows: st.builds(OverRows, PRECEDING, st.integers(1, 4), ORDERS),
}


MOVING_OVER_PANES = {
    kind: windows for kind, windows in DRAWN.items() if issubclass(kind, Paned) and kind not in {Landmark, Whole}
}
"""The kinds whose panes leave their windows again."""


def discovered() -> set[type[Window[Any]]]:
    """Every kind that a file of `millstream/windows` defines."""
    for module in pkgutil.iter_modules(millstream.windows.__path__):
        importlib.import_module(f"millstream.windows.{module.name}")
    return {kind for kind in _below(Window) if kind.__module__.startswith("millstream.windows.")}


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    for below in kind.__subclasses__():
        if not isabstract(below):
            yield below
        yield from _below(below)


@st.composite
def streams(draw: st.DrawFn, earliest: int = -30, rows_from: int = 1) -> list[Tuple]:
    """Tuples in any order, of two keys, with numbers that do not follow time."""
    drawn = draw(st.lists(st.tuples(st.integers(earliest, 30), st.sampled_from("ab")), max_size=12))
    tuples = [Tuple(time, row, key) for row, (time, key) in enumerate(drawn, rows_from)]
    return draw(st.permutations(tuples))


# -- as they are written -----------------------------------------------------------------------------------

Sentence = tuple[str, str]
"""What stands behind an aggregate, and what in FROM."""


def _brackets(text: str) -> Sentence:
    return f"[{text}]", "{s}"


def _function(text: str) -> Sentence:
    """`CUMULATE step 1 second, size 5 seconds` as a table function of its lengths, and of its OFFSET if it has one."""
    found = re.fullmatch(r"(\w+) (.*?)(?:, ORIGIN '(.*)')?", text)
    assert found, text
    lengths = [part.partition(" ")[2] for part in found[2].split(", ")]
    if found[3]:
        moment = datetime.fromisoformat(found[3]).replace(tzinfo=UTC)
        lengths.append(f"{(moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)} MICROSECONDS")
    intervals = ", ".join(f"INTERVAL '{length}'" for length in lengths)
    return "", f"{found[1]}(TABLE {{s}}, DESCRIPTOR({{ts}}), {intervals})"


def _slide_by_tuple(text: str) -> Sentence:
    counted = text.replace(" by arrival", ", SATTR row_num").replace(" by time stamp", ", SATTR rank({ts})")
    return _brackets(counted)


WRITTEN: dict[type[Window[Any]], Callable[[str], Sentence]] = {
    Sliding: _brackets,
    Cumulate: _function,
    Landmark: _brackets,
    Rows: _brackets,
    SlideByTuple: _slide_by_tuple,
    Session: _function,
    OverRange: lambda text: (f"OVER ({text})", "{s}"),
    OverRows: lambda text: (f"OVER ({text})", "{s}"),
}
"""How the text of a window becomes part of a query; Whole is what nobody writes."""
