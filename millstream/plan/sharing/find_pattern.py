"""Finds the pattern of a filter: what it does, with its constants taken out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile

import pyarrow as pa

from millstream.expressions.arrow.steps import ColumnOf, Whole
from millstream.expressions.arrow.types import arrow_type, column_of
from millstream.expressions.build.bound import column_of as column_value
from millstream.expressions.compile.arrow import NoArrowForm, arrow_value
from millstream.expressions.elementary import elementary
from millstream.expressions.reading import all_of, children, columns_of, over_children, terms_of, walk
from millstream.expressions.reading import rewrite as rewrite_value
from millstream.expressions.tree import BOOL, Call, Column, Literal, Value
from millstream.operators.match.pattern import Pattern
from millstream.operators.tuples.row_steps import Compute, Keep, Step
from millstream.plan.algebra import Derived, Filter, Node, Project, rewrite
from millstream.plan.column_origins import steps as steps_of
from millstream.plan.physical.arrow_steps import Refused, arrow_rows
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.match_terms import sort_terms
from millstream.plan.scans import Scan

_CONSTANT = "__c"
"""What the names of columns of constants begin with: those of users do not."""

_COMPARED = frozenset({"eq", "gt", "ge", "lt", "le", "startswith"})
"""What the index can look a constant up for."""


def find_pattern(logical: Node, facts: Facts, arrived: bool) -> Pattern | None:
    """The pattern of a plan without state; None if there is none by which its members can be looked up.

    Equal patterns are of plans that differ in constants alone.
    """
    lifting = _Lifting()
    try:
        plan = rewrite(logical, lifting.lift)
        condition = _condition_on_tuples(plan)
        if condition is None or not lifting.values:
            return None
        found = sort_terms(condition, frozenset(lifting.values))
        if not found.terms.is_indexed or found.computed or found.left_over is not None:
            return None
        # What is asked is looked up: it only has to be read.
        read, steps, _ = arrow_rows(rewrite(plan, lifting.reading), facts, arrived)
        types = {name: arrow_type(constant.type) for name, constant in lifting.values.items()}
    except (NoArrowForm, Refused, KeyError):  # then it is carried out by itself
        return None
    steps = tuple(step for step in steps if not isinstance(step, Keep))
    before = tuple(takewhile(lambda step: isinstance(step, Compute) and step.beside, steps))
    after = steps[len(before) :]
    asks = columns_of(condition) - types.keys()
    if not asks <= {*read.names, *_made(before)}:
        return None
    columns = {name: column_of([lifting.values[name].value], type_) for name, type_ in types.items()}
    return Pattern(found.terms, tuple(sorted(asks)), before, _with_constants(after, types), pa.table(columns))


def _condition_on_tuples(plan: Node) -> Value | None:
    """All that tuples of the stream must meet, in its columns; None if nothing is asked, or no plain stream is read."""
    asked: list[Value] = []
    meanings: dict[str, Value] = {}
    for step in reversed(list(steps_of(plan))):
        match step:
            case Scan():
                meanings = {c.name.lower(): column_value(c.name, c.type) for c in step.schema}
            case Filter(predicate=predicate):
                asked.append(_in_tuples(predicate, meanings))
            case Project(items=items):
                meanings = {item.name.lower(): _in_tuples(item.expression, meanings) for item in items}
            case Derived():
                pass
            case _:
                return None
    return all_of(asked)


def _in_tuples(value: Value, meanings: Mapping[str, Value]) -> Value:
    """A value in columns of the stream; constants stay."""
    return rewrite_value(value, lambda p: meanings.get(p.name.lower(), p) if isinstance(p, Column) else p)


def _made(steps: tuple[Step, ...]) -> frozenset[str]:
    return frozenset(name for step in steps if isinstance(step, Compute) for name, _, _ in step.columns)


def _with_constants(steps: tuple[Step, ...], types: Mapping[str, pa.DataType]) -> tuple[Step, ...]:
    """The steps, all of which but the last pass the constants on."""
    passed = tuple((name, Whole(ColumnOf(name, type_)), type_) for name, type_ in types.items())
    *others, last = steps
    return (*(replace(s, columns=(*s.columns, *passed)) if isinstance(s, Compute) else s for s in others), last)


@dataclass
class _Lifting:
    """Takes constants out of plans, by the names of the columns that take their places."""

    values: dict[str, Literal] = field(default_factory=dict)

    def lift(self, node: Node) -> Node:
        """The step with columns in place of its constants."""
        match node:
            case Filter(predicate=predicate):
                terms = [self._compared(part) for term in terms_of(predicate) for part in terms_of(elementary(term))]
                return replace(node, predicate=all_of(terms) or predicate)
            case Project(items=items):
                return replace(node, items=tuple(replace(i, expression=self._computed(i.expression)) for i in items))
        return node

    def reading(self, node: Node) -> Node:
        """A filter that reads what it reads of tuples, and asks nothing of it that must have a form over Arrow."""
        if not isinstance(node, Filter):
            return node
        read = {part for part in walk(node.predicate) if isinstance(part, Column) and part.name not in self.values}
        columns = sorted(read, key=lambda column: column.name)
        reads = all_of([Call("is_not_null", (column,), BOOL) for column in columns])
        return node if reads is None else replace(node, predicate=reads)

    def _compared(self, term: Value) -> Value:
        if not isinstance(term, Call) or term.function not in _COMPARED:
            return self._computed(term)
        return over_children(term, [self._column(p) if isinstance(p, Literal) else p for p in term.arguments])

    def _computed(self, value: Value) -> Value:
        before = dict(self.values)
        try:
            lifted = self._every(elementary(value))
            arrow_value(lifted)
        except NoArrowForm:  # it wants its constants written out
            self.values = before
            return value
        return lifted

    def _every(self, value: Value) -> Value:
        if isinstance(value, Literal):
            return self._column(value)
        parts = children(value)
        return over_children(value, [self._every(part) for part in parts]) if parts else value

    def _column(self, constant: Literal) -> Value:
        if constant.value is None:
            return constant
        name = f"{_CONSTANT}{len(self.values)}"
        self.values[name] = constant
        return Column(name, constant.type)
