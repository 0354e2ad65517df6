"""The variants of an aggregate that `uda paper` compares: average and frequent items, with EXPIRE and otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.errors import SettingError, suggest
from millstream_bench.udas import texts

if TYPE_CHECKING:
    from millstream.aggregates.contract import Aggregate
    from millstream.operators.over.over_aggregate_job import OverAggregateJob


@dataclass(frozen=True)
class Variant:
    """One way to compute an aggregate over a window; `arguments` are columns of the rows that are fed."""

    aggregate: str
    name: str
    what: str
    make: Callable[[], Aggregate]
    arguments: tuple[str, ...]
    bounded: bool = True
    """Whether the system keeps the window; if not, the aggregate does, and its frame is all that came before."""
    recomputes: bool = False
    """Whether an answer costs as much as the window is long, and no state is kept but the tuples."""

    def work(self, window: int, slide: int) -> OverAggregateJob:
        """OVER (ROWS window - 1 PRECEDING SLIDE slide)."""
        from millstream.operators.over.over_aggregate_job import OverAggregateJob, OverCall
        from millstream.operators.window_aggregate_job import TIME, Call
        from millstream.windows.over_rows import OverRows

        frame = OverRows(window - 1 if self.bounded else None, slide)
        return OverAggregateJob((), (OverCall(Call(self.make(), self.arguments, names=("answer",)), frame),), (TIME,))


def _sql(base: str | None = None, window: str | None = None) -> Callable[[], Aggregate]:
    def make() -> Aggregate:
        from millstream.udas.choose_form import sql_aggregate
        from millstream.udas.sql_aggregate import Versions

        return sql_aggregate(Versions(base and texts.body_of(base), window and texts.body_of(window)))  # type: ignore[arg-type]

    return make


def _python_average() -> Aggregate:
    import pyarrow as pa

    from millstream.udas.python.aggregate import PyAggregate
    from millstream_bench.udas.classes import BatchAverage

    return PyAggregate("python_avg", BatchAverage, [pa.float64()], (("answer", pa.float64()),))


def _built_in_average() -> Aggregate:
    import pyarrow as pa

    from millstream.aggregates.avg import Avg

    return Avg([pa.float64()])


VARIANTS: tuple[Variant, ...] = (
    Variant("average", "expire", "in SQL, EXPIRE takes out what leaves", _sql(window=texts.WINDOW_AVERAGE), ("x",)),
    Variant(
        "average",
        "own-window",
        "in SQL without EXPIRE: it keeps its window itself",
        _sql(texts.OWN_WINDOW_AVERAGE),
        ("x", "span"),
        bounded=False,
    ),
    Variant("average", "naive", "in SQL, anew for each answer", _sql(texts.AVERAGE), ("x",), recomputes=True),
    Variant("average", "panes", "in SQL, ALGEBRAIC: answers over panes", _sql(texts.PANED_AVERAGE), ("x", "one")),
    Variant("average", "python", "in Python, batch forms", _python_average, ("x",)),
    Variant("average", "built-in", "avg", _built_in_average, ("x",)),
    Variant("frequent", "expire", "in SQL, EXPIRE takes out what leaves", _sql(window=texts.FREQUENT), ("item",)),
    Variant(
        "frequent",
        "own-window",
        "in SQL without EXPIRE: it keeps its window itself",
        _sql(texts.OWN_WINDOW_FREQUENT),
        ("item", "span"),
        bounded=False,
    ),
    Variant(
        "frequent", "naive", "in SQL, anew for each answer", _sql(texts.NAIVE_FREQUENT), ("item",), recomputes=True
    ),
)


def chosen(aggregates: Sequence[str], names: Sequence[str]) -> list[Variant]:
    """The variants of these aggregates and names; of all, where none are given.

    >>> [f"{v.aggregate} {v.name}" for v in chosen((), ("expire",))]
    ['average expire', 'frequent expire']
    """
    for given, known in (
        (aggregates, dict.fromkeys(v.aggregate for v in VARIANTS)),
        (names, dict.fromkeys(v.name for v in VARIANTS)),
    ):
        for name in given:
            if name not in known:
                raise SettingError(f"bench uda paper has no '{name}': {suggest(name, list(known))}")
    return [v for v in VARIANTS if (not aggregates or v.aggregate in aggregates) and (not names or v.name in names)]
