"""Simple SELECTs over a view are answered in this process, from its rows in memory, with the same results as by Spark.

That is for conditions and columns that have a form over Arrow, and LIMIT. Spark does the others, over the view's files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from millstream.catalog.arrow import to_arrow
from millstream.catalog.definitions import View
from millstream.expressions.arrow.steps import ArrowExpression
from millstream.expressions.compile.arrow import NoArrowForm, arrow_condition, arrow_value
from millstream.expressions.words import words
from millstream.language.types.functions import makes_rows
from millstream.plan.algebra import Derived, Filter, Node, Project
from millstream.plan.bounded import Limit
from millstream.plan.column_origins import steps
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.nodes import Explanation, Noted, Physical, explain_step
from millstream.plan.scans import TableScan

Step = Callable[[pa.Table], pa.Table]


class _Refused(Exception):
    """Something that only Spark does; the message says what."""


@dataclass(frozen=True)
class AnswerHere(Physical):
    """A plan over one view whose steps are all done over the rows in memory."""

    below: Node
    view: View
    steps: tuple[Step, ...]

    @property
    def explanation(self) -> Explanation:
        """The plan, and where it is carried out."""
        step, notes, beneath = explain_step(self.below)
        return Explanation(step, (*notes, "answered here, from the rows in memory"), beneath)

    def rows(self, rows: pa.Table) -> pa.Table:
        """What the steps make of the rows of the view."""
        for step in self.steps:
            rows = step(rows)
        return rows


def answer_here(plan: Node, facts: Facts) -> Node:
    """A plan that reads views alone: done here if it can be, else with the reason why not."""
    scans = [step.table for step in steps(plan) if isinstance(step, TableScan)]
    if not scans or not all(isinstance(table, View) for table in scans):
        return plan
    try:
        found = _steps(plan)
    except _Refused as why:
        return Noted(plan, f"Spark answers: {why}")
    view = scans[0]
    assert isinstance(view, View)  # noqa: S101
    return AnswerHere(plan, view, tuple(found))


def _steps(node: Node) -> list[Step]:
    match node:
        case TableScan(table=View()):
            return []
        case Derived(below=below):
            return _steps(below)
        case Limit(below=below, limit=limit, offset=offset):
            return [*_steps(below), _Cut(offset or 0, limit)]
        case Filter(below=below, predicate=condition):
            try:
                return [*_steps(below), _Keep(arrow_condition(condition))]
            except NoArrowForm as part:
                raise _Refused(f"{words(part.value)} has no form over Arrow") from None
        case Project(below=below, items=items):
            found = _steps(below)
            columns = []
            for item in items:
                if makes_rows(item.expression):
                    raise _Refused(f"{words(item.expression)} makes rows")
                try:
                    compute, type_ = arrow_value(item.expression)
                except NoArrowForm as part:
                    raise _Refused(f"{words(part.value)} has no form over Arrow") from None
                if type_ != (to_arrow(item.type) or type_):
                    raise _Refused(f"{words(item.expression)} is {type_} in Arrow")
                columns.append((item.name, compute))
            return [*found, _Columns(tuple(columns))]
    raise _Refused(f"{node.label()} is not computed here")


@dataclass(frozen=True)
class _Keep:
    """A WHERE."""

    holds: ArrowExpression

    def __call__(self, rows: pa.Table) -> pa.Table:
        return rows.filter(pc.fill_null(self.holds(rows), False))


@dataclass(frozen=True)
class _Columns:
    """The columns of a SELECT."""

    columns: tuple[tuple[str, ArrowExpression], ...]

    def __call__(self, rows: pa.Table) -> pa.Table:
        return pa.table({name: compute(rows) for name, compute in self.columns})


@dataclass(frozen=True)
class _Cut:
    """LIMIT and OFFSET."""

    offset: int
    limit: int | None

    def __call__(self, rows: pa.Table) -> pa.Table:
        return rows.slice(self.offset, self.limit)
