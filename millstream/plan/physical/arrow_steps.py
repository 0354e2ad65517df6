"""The steps from a file to a stage over Arrow tables, or why there is one that only Spark can carry out.

The rows of tables that are joined on the way come along with the names of the files: Spark reads them, as they are when
a batch begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.types as pt

from millstream.catalog.arrow import carried, to_arrow
from millstream.catalog.definitions import HistoryTable
from millstream.catalog.schema import Column, SqlType, type_name
from millstream.expressions.arrow.steps import ArrowExpression
from millstream.expressions.build.bound import column_of
from millstream.expressions.compile.arrow import NoArrowForm, arrow_condition, arrow_value
from millstream.expressions.reading import all_of, columns_of, renamed, terms_of
from millstream.expressions.tree import INT64, TIMESTAMP, Call, Value
from millstream.expressions.tree import Column as ColumnValue
from millstream.expressions.words import words
from millstream.language.types.functions import makes_rows
from millstream.operators.tuples.row_steps import Compute, Keep, Lookup, Step, Wide
from millstream.operators.window_aggregate_job import TIME
from millstream.plan.algebra import Derived, Filter, Node, Project
from millstream.plan.column_origins import steps as steps_of
from millstream.plan.joins_and_unions import TableJoin
from millstream.plan.match_registrations import MatchRegistrations
from millstream.plan.physical.conditions_first import conditions_first
from millstream.plan.physical.facts import Facts
from millstream.plan.physical.nodes import ArrowRead, Exchange, InStage, Noted, SparkRead, Stage, TableRows
from millstream.plan.scans import Scan, TableScan
from millstream.windows.join_kind import JoinKind

LARGEST_TABLE = 8 << 20
"""The bytes of files that a table may have: its rows come along with the name of each file."""

_KINDS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


class Refused(Exception):
    """Something that only Spark can do; the message says what."""


def arrow_read(exchange: Exchange, scan: Scan, facts: Facts, arrived: bool = False) -> ArrowRead:
    """How the stage behind an exchange reads the stream of a scan by itself; Refused says why it cannot.

    `arrived`, it is given the tuples with all their columns, also those that are computed as they arrive.
    """
    way = _Way(facts, arrived)
    try:
        known, below = way.to(exchange.below, _find_reads(exchange.columns.values()) | {str(exchange.time).lower()})
        stamp = Call("unix_micros", (ColumnValue(str(exchange.time), TIMESTAMP),), INT64)
        computed = tuple((name, *known.value(e)) for name, e in {**exchange.columns, TIME: stamp}.items())
    except NoArrowForm as part:
        raise Refused(f"{words(part.value)} has no form over Arrow") from None
    schemas = [table.columns for table in way.tables]
    steps = conditions_first((*way.steps, Compute(computed)), schemas)
    types = {name: type_ for name, _, type_ in computed}
    return ArrowRead(below, scan, way.read, steps, tuple(way.tables), types)


def arrow_rows(plan: Node, facts: Facts, arrived: bool = False) -> tuple[pa.Schema, tuple[Step, ...], pa.Schema]:
    """The columns that are read of a stream or of the answers of a stage, the steps from there, and what comes out.

    Refused says why there is a step that only Spark can carry out.
    """
    way = _Way(facts, arrived)
    try:
        known, _ = way.to(plan, frozenset(name.lower() for name in plan.schema.names))
        last = tuple((c.name, *_as(known, column_of(c.name, c.type), c.type)) for c in plan.schema)
    except NoArrowForm as part:
        raise Refused(f"{words(part.value)} has no form over Arrow") from None
    if way.tables:
        raise Refused("it joins a table")
    steps = conditions_first((*way.steps, Compute(last)), [])
    return way.read, steps, pa.schema([pa.field(name, type_) for name, _, type_ in last])


@dataclass(frozen=True)
class _Known:
    """The columns at some point of the way: how each is spelt, by its name in small letters, and their types."""

    names: Mapping[str, str]
    types: Mapping[str, SqlType]

    @staticmethod
    def of(types: Mapping[str, SqlType]) -> _Known:
        return _Known({name.lower(): name for name in types}, types)

    def spelt(self, expression: Value) -> Value:
        """The expression with columns as they are spelt here."""
        return renamed(expression, self.names)

    def value(self, expression: Value) -> tuple[ArrowExpression, pa.DataType]:
        return arrow_value(self.spelt(expression))

    def condition(self, expression: Value) -> ArrowExpression:
        return arrow_condition(self.spelt(expression))

    def has(self, expression: Value) -> bool:
        return _find_reads([expression]) <= set(self.names)


@dataclass
class _Way:
    """The steps from a stream to a stage, as far as they are known."""

    facts: Facts
    arrived: bool = False
    steps: list[Step] = field(default_factory=list)
    read: pa.Schema = field(default_factory=lambda: pa.schema([]))
    tables: list[TableRows] = field(default_factory=list)

    def to(self, node: Node, wanted: frozenset[str]) -> tuple[_Known, Node]:
        """Lay the way to a node, of which these columns are read; also the node with what EXPLAIN says below it."""
        match node:
            case Derived(below=below):
                known, said = self.to(below, wanted)
                return known, node.with_inputs([said])
            case Filter(below=below, predicate=condition):
                known, said = self.to(below, wanted | _find_reads([condition]))
                self.steps.append(Keep((known.condition(condition),)))
                return known, node.with_inputs([said])
            case Project(below=below, items=items):
                if rows := next((i for i in items if makes_rows(i.expression)), None):
                    raise Refused(f"{words(rows.expression)} makes rows")
                kept = [i for i in items if i.name.lower() in wanted]
                known, said = self.to(below, _find_reads(i.expression for i in kept))
                self.steps.append(Compute(tuple((i.name, *_as(known, i.expression, i.type)) for i in kept)))
                return _Known.of({i.name: i.type for i in kept}), node.with_inputs([said])
            case TableJoin():
                return self._add_join(node, wanted)
            case InStage(below=below) | Noted(below=below) | SparkRead(below=below):
                return self.to(below, wanted)
            case Stage():
                columns = [c for c in node.schema if c.name.lower() in wanted]
                self.read = pa.schema([pa.field(c.name, _find_carried_type(c)) for c in columns])
                return _Known.of({c.name: c.type for c in columns}), node
            case Scan() if self.arrived:
                columns = [c for c in node.schema if c.name.lower() in wanted]
                self.read = pa.schema([pa.field(c.name, _find_plain_type(c)) for c in columns])
                return _Known.of({c.name: c.type for c in columns}), node
            case Scan():
                what = "files" if node.stream.keep is None else "log"
                return self._add_scan(node, wanted), Noted(node, f"the stage reads the {what} itself")
            case MatchRegistrations():
                raise Refused("its tuples are matched with registrations first")
        raise Refused(f"{type(node).__name__} is in the way")

    def _add_scan(self, scan: Scan, wanted: frozenset[str]) -> _Known:
        stream = scan.stream
        computed = [i for i in stream.computed if i.name.lower() in wanted]
        if any(i.name == stream.time for i in stream.computed):
            raise Refused(f"its time stamp {stream.time} is computed")
        read = wanted | _find_reads(i.expression for i in computed) | {str(stream.time).lower()}
        columns = [c for c in stream.landed_schema if c.name.lower() in read]
        self.read = pa.schema([pa.field(c.name, _find_plain_type(c)) for c in columns])
        types = {c.name: c.type for c in columns}
        if computed:
            known = _Known.of(types)
            made = tuple((i.name, *_as(known, i.expression, i.type)) for i in computed)
            self.steps.append(Compute(made, beside=True))
        return _Known.of({**types, **{i.name: i.type for i in computed}})

    def _add_join(self, node: TableJoin, wanted: frozenset[str]) -> tuple[_Known, Node]:
        if node.condition is None or node.kind not in _KINDS:
            raise Refused(f"{node.label()} pairs tuples with any row")
        self._check_size(node.right)
        terms = terms_of(node.condition)
        read = wanted | _find_reads(terms)
        ours, left = self.to(node.left, read)
        columns = [column for column in node.right.schema if column.name.lower() in read]
        theirs = _Known.of({column.name: column.type for column in columns})
        schema = pa.schema([pa.field(column.name, _find_carried_type(column)) for column in columns])
        both = _Known.of({**ours.types, **theirs.types})
        equal = {id(term): _equality(term, ours, theirs) for term in terms}
        keys = tuple(key for key in equal.values() if key is not None)
        rest = [term for term in terms if equal[id(term)] is None]
        if not keys:
            raise Refused(f"{words(node.condition)} compares no key of one type")
        residual = both.condition(left_over) if (left_over := all_of(rest)) is not None else None
        self.steps.append(Lookup(len(self.tables), node.kind, keys, residual))
        self.tables.append(TableRows(node.right, schema))
        right = Noted(node.right, "its rows come along with the names of files")
        return both if node.kind.paired else ours, node.with_inputs([left, right])

    def _check_size(self, rows: Node) -> None:
        """Tables that come along must be files on this machine, and few bytes."""
        scans = [step for step in steps_of(rows) if isinstance(step, TableScan)]
        size = 0
        for scan in scans:
            files = None if isinstance(scan.table, HistoryTable) else self.facts.files(scan.table.source)
            if files is None or not files.local:
                raise Refused(f"how many bytes table {scan.table.name} has is not known here")
            size += files.size
            if size > LARGEST_TABLE:
                raise Refused(f"table {scan.table.name} is larger than {LARGEST_TABLE >> 20} MB")
        if not scans:
            raise Refused("what is joined is no table")


def _equality(term: Value, ours: _Known, theirs: _Known) -> tuple[ArrowExpression, ArrowExpression] | None:
    """The sides of a term, if they are one of the tuples and one of the table and can be compared as they are."""
    if not isinstance(term, Call) or term.function != "eq":
        return None
    left, right = term.arguments
    if theirs.has(left) and ours.has(right):
        left, right = right, left
    if not ours.has(left) or not theirs.has(right):
        return None
    (mine, one), (other, another) = ours.value(left), theirs.value(right)
    if pt.is_integer(one) and pt.is_integer(another):
        return Wide(mine), Wide(other)
    return (mine, other) if one == another and not pt.is_floating(one) and not pt.is_decimal(one) else None


def _as(known: _Known, expression: Value, type_: SqlType) -> tuple[ArrowExpression, pa.DataType]:
    """An expression that must have the type that the plan says, or steps above would go wrong."""
    compute, found = known.value(expression)
    if found != (to_arrow(type_) or found):
        raise Refused(f"{words(expression)} is {found} in Arrow, and {type_name(type_)} in Spark")
    return compute, found


def _find_plain_type(column: Column) -> pa.DataType:
    found = to_arrow(column.type)
    if found is None:
        raise Refused(f"column {column.name} is {type_name(column.type)}")
    return found


def _find_carried_type(column: Column) -> pa.DataType:
    found = carried(column.type)
    if found is None:
        raise Refused(f"column {column.name} is {type_name(column.type)}")
    return found


def _find_reads(expressions: Iterable[Value]) -> frozenset[str]:
    return frozenset(name.lower() for name in columns_of(*expressions))
