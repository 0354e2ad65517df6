"""The steps from a file to a stage over Arrow tables, or why there is one that only Spark can carry out.

The rows of tables that are joined on the way come along with the names of the files: Spark reads them, as they are when
a batch begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

import pyarrow as pa
import pyarrow.types as pt
from sqlglot import exp

from millstream.catalog.arrow import carried, to_arrow
from millstream.catalog.schema import Column, SqlType, type_name
from millstream.expressions.arrow.steps import ArrowExpression
from millstream.expressions.build.builder import Unsupported
from millstream.expressions.build.predicates import predicate, value
from millstream.expressions.build.reading import all_of, columns_of, terms_of
from millstream.language.parse.written import written
from millstream.language.types.functions import makes_rows
from millstream.operators.tuples.row_steps import Compute, Keep, Lookup, Step, Wide
from millstream.operators.window_aggregate_job import TIME
from millstream.plan.algebra import Derived, Filter, Node, Project, Scan, TableScan
from millstream.plan.column_origins import steps as steps_of
from millstream.plan.joins_and_unions import TableJoin
from millstream.plan.physical.conditions_first import conditions_first
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.nodes import ArrowRead, Exchange, Noted, TableRows
from millstream.windows.join_kind import JoinKind

LARGEST_TABLE = 8 << 20
"""The bytes of files that a table may have: its rows come along with the name of each file."""

_KINDS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


class Refused(Exception):
    """Something that only Spark can do; the message says what."""


def arrow_read(exchange: Exchange, scan: Scan, facts: Facts) -> ArrowRead:
    """How the stage behind an exchange reads the stream of a scan by itself; Refused says why it cannot."""
    way = _Way(facts)
    try:
        known, below = way.to(exchange.below, _read(exchange.columns.values()) | {str(exchange.time).lower()})
        stamp = exp.Anonymous(this="unix_micros", expressions=[exp.column(str(exchange.time))])
        computed = tuple((name, *known.value(e)) for name, e in {**exchange.columns, TIME: stamp}.items())
    except Unsupported as part:
        raise Refused(f"{written(part.node)} has no form over Arrow") from None
    schemas = [table.columns for table in way.tables]
    steps = conditions_first((*way.steps, Compute(computed)), schemas)
    types = {name: type_ for name, _, type_ in computed}
    return ArrowRead(below, scan, way.read, steps, tuple(way.tables), types)


@dataclass(frozen=True)
class _Known:
    """The columns at some point of the way: how each is spelt, by its name in small letters, and their types."""

    names: Mapping[str, str]
    types: Mapping[str, SqlType]

    @staticmethod
    def of(types: Mapping[str, SqlType]) -> _Known:
        return _Known({name.lower(): name for name in types}, types)

    def spelt(self, expression: exp.Expression) -> exp.Expression:
        """The expression with columns as they are spelt here."""

        def spell(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and node.name.lower() in self.names:
                return exp.Column(this=exp.to_identifier(self.names[node.name.lower()], quoted=True))
            return node

        return cast("exp.Expression", expression.copy().transform(spell))

    def value(self, expression: exp.Expression) -> tuple[ArrowExpression, pa.DataType]:
        return value(self.spelt(expression), self.types)

    def condition(self, expression: exp.Expression) -> ArrowExpression:
        return predicate(self.spelt(expression), self.types)

    def has(self, expression: exp.Expression) -> bool:
        return _read([expression]) <= set(self.names)


@dataclass
class _Way:
    """The steps from a stream to a stage, as far as they are known."""

    facts: Facts
    steps: list[Step] = field(default_factory=list)
    read: pa.Schema = field(default_factory=lambda: pa.schema([]))
    tables: list[TableRows] = field(default_factory=list)

    def to(self, node: Node, wanted: frozenset[str]) -> tuple[_Known, Node]:
        """Lay the way to a node, of which these columns are read; also the node with what EXPLAIN says below it."""
        match node:
            case Derived(below=below):
                known, said = self.to(below, wanted)
                return known, node.over([said])
            case Filter(below=below, predicate=condition):
                known, said = self.to(below, wanted | _read([condition]))
                self.steps.append(Keep((known.condition(condition),)))
                return known, node.over([said])
            case Project(below=below, items=items):
                if rows := next((i for i in items if makes_rows(i.expression)), None):
                    raise Refused(f"{written(rows.expression)} makes rows")
                kept = [i for i in items if i.name.lower() in wanted]
                known, said = self.to(below, _read(i.expression for i in kept))
                self.steps.append(Compute(tuple((i.name, *_as(known, i.expression, i.type)) for i in kept)))
                return _Known.of({i.name: i.type for i in kept}), node.over([said])
            case TableJoin():
                return self._joined(node, wanted)
            case Scan():
                return self._scanned(node, wanted), Noted(node, "the stage reads the files itself")
        raise Refused(f"{type(node).__name__} is in the way")

    def _scanned(self, scan: Scan, wanted: frozenset[str]) -> _Known:
        stream = scan.stream
        computed = [i for i in stream.computed if i.name.lower() in wanted]
        if any(i.name == stream.time for i in stream.computed):
            raise Refused(f"its time stamp {stream.time} is computed")
        read = wanted | _read(i.expression for i in computed) | {str(stream.time).lower()}
        columns = [c for c in stream.arriving if c.name.lower() in read]
        self.read = pa.schema([pa.field(c.name, _plain(c)) for c in columns])
        types = {c.name: c.type for c in columns}
        if computed:
            known = _Known.of(types)
            made = tuple((i.name, *_as(known, i.expression, i.type)) for i in computed)
            self.steps.append(Compute(made, beside=True))
        return _Known.of({**types, **{i.name: i.type for i in computed}})

    def _joined(self, node: TableJoin, wanted: frozenset[str]) -> tuple[_Known, Node]:
        if node.condition is None or node.kind not in _KINDS:
            raise Refused(f"{node.label()} pairs tuples with any row")
        self._check_size(node.right)
        terms = terms_of(node.condition)
        read = wanted | _read(terms)
        ours, left = self.to(node.left, read)
        columns = [column for column in node.right.schema if column.name.lower() in read]
        theirs = _Known.of({column.name: column.type for column in columns})
        schema = pa.schema([pa.field(column.name, _carried(column)) for column in columns])
        both = _Known.of({**ours.types, **theirs.types})
        equal = {id(term): _equality(term, ours, theirs) for term in terms}
        keys = tuple(key for key in equal.values() if key is not None)
        rest = [term for term in terms if equal[id(term)] is None]
        if not keys:
            raise Refused(f"{written(node.condition)} compares no key of one type")
        residual = both.condition(left_over) if (left_over := all_of(rest)) is not None else None
        self.steps.append(Lookup(len(self.tables), node.kind, keys, residual))
        self.tables.append(TableRows(node.right, schema))
        right = Noted(node.right, "its rows come along with the names of files")
        return both if node.kind.paired else ours, node.over([left, right])

    def _check_size(self, rows: Node) -> None:
        """Tables that come along must be files on this machine, and few bytes."""
        scans = [step for step in steps_of(rows) if isinstance(step, TableScan)]
        size = 0
        for scan in scans:
            files = self.facts.files(scan.table.source)
            if not files.local:
                raise Refused(f"how many bytes table {scan.table.name} has is not known here")
            size += files.size
            if size > LARGEST_TABLE:
                raise Refused(f"table {scan.table.name} is larger than {LARGEST_TABLE >> 20} MB")
        if not scans:
            raise Refused("what is joined is no table")


def _equality(term: exp.Expr, ours: _Known, theirs: _Known) -> tuple[ArrowExpression, ArrowExpression] | None:
    """The sides of a term, if they are one of the tuples and one of the table and can be compared as they are."""
    if not isinstance(term, exp.EQ):
        return None
    left, right = term.this, term.expression
    if theirs.has(left) and ours.has(right):
        left, right = right, left
    if not ours.has(left) or not theirs.has(right):
        return None
    (mine, one), (other, another) = ours.value(left), theirs.value(right)
    if pt.is_integer(one) and pt.is_integer(another):
        return Wide(mine), Wide(other)
    return (mine, other) if one == another and not pt.is_floating(one) and not pt.is_decimal(one) else None


def _as(known: _Known, expression: exp.Expression, type_: SqlType) -> tuple[ArrowExpression, pa.DataType]:
    """An expression that must have the type that the plan says, or steps above would go wrong."""
    compute, found = known.value(expression)
    if found != (to_arrow(type_) or found):
        raise Refused(f"{written(expression)} is {found} in Arrow, and {type_name(type_)} in Spark")
    return compute, found


def _plain(column: Column) -> pa.DataType:
    found = to_arrow(column.type)
    if found is None:
        raise Refused(f"column {column.name} is {type_name(column.type)}")
    return found


def _carried(column: Column) -> pa.DataType:
    found = carried(column.type)
    if found is None:
        raise Refused(f"column {column.name} is {type_name(column.type)}")
    return found


def _read(expressions: Iterable[exp.Expr]) -> frozenset[str]:
    return frozenset(name.lower() for name in columns_of(*expressions))
