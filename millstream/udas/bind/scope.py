"""What names mean inside the body of an aggregate: columns first, from the inside out, then parameters."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Table
from millstream.catalog.schema import Schema, SqlType, type_name
from millstream.errors import NotYet, Refused, UnknownName, suggest
from millstream.expressions.tree import NULL, Value
from millstream.language.parse.spans import span_of
from millstream.udas import body as b
from millstream.udas.bind.types import run_type

Typed = tuple[Value, SqlType]


@dataclass(frozen=True)
class QueryInput:
    """One input of a FROM: its name there, its number in the aggregate, and its columns."""

    name: str
    number: int
    schema: Schema

    def column(self, name: str) -> Typed | None:
        """A column by its name."""
        for index, column in enumerate(self.schema):
            if column.name.lower() == name.lower():
                type_ = run_type(column.type) or NULL
                return b.ColumnOf(self.number, index, column.name, type_), column.type
        return None


@dataclass(frozen=True)
class Hidden:
    """A bare name that means a column, though a parameter has the same name."""

    node: exp.Column
    column: b.ColumnOf
    table: str
    clause: str


@dataclass
class Names:
    """What the names in one statement turned out to mean."""

    hidden: list[Hidden] = field(default_factory=list)
    qualified: list[tuple[exp.Column, b.ColumnOf]] = field(default_factory=list)


@dataclass
class Aggregate:
    """The aggregate that is being defined: what its bodies can see, and what they turned out to use."""

    name: str
    parameters: Schema
    result: Schema
    window: bool
    catalog: Catalog
    text: str
    tables: dict[str, Schema] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    reads: dict[str, b.CatalogTable] = field(default_factory=dict)
    numbers: int = 0
    names: Names = field(default_factory=Names)
    hidden: set[str] = field(default_factory=set)

    def hides(self, name: str) -> bool:
        """Whether a column of that name hides a parameter."""
        return any(p.name.lower() == name.lower() for p in self.parameters)

    def next_number(self) -> int:
        """A number for an input."""
        self.numbers += 1
        return self.numbers

    def parameter(self, name: str) -> Typed | None:
        """A parameter by its name."""
        for index, column in enumerate(self.parameters):
            if column.name.lower() == name.lower():
                self.used.add(column.name.lower())
                return b.Parameter(index, column.name, run_type(column.type) or NULL), column.type
        return None

    def relation(self, node: exp.Table, clause: str) -> tuple[str | b.CatalogTable, Schema]:
        """The local table or the table of the catalog that a name in FROM means."""
        name = node.name
        if name.lower() in self.tables and not node.db:
            return name.lower(), self.tables[name.lower()]
        found = self.catalog.relation(name) if not node.db else None
        if isinstance(found, Table):
            read = b.CatalogTable(found.name, fields_of(found.schema))
            self.reads[found.name] = read
            return read, found.schema
        if found is not None:
            raise Refused(
                f"{found.name} is a stream, and the body of an aggregate reads tables",
                self.text,
                span_of(node),
                clause=clause,
                hint="pass what it needs as a parameter",
            )
        if name.lower() == "return":
            message, hint = "RETURN can only be inserted into", "read the tables that its rows come from"
            raise Refused(message, self.text, span_of(node), clause=clause, hint=hint)
        raise UnknownName(
            f"no table '{name}' in this aggregate", self.text, span_of(node), clause=clause, hint=self.table_hint(name)
        )

    def table_hint(self, name: str) -> str:
        """What to write instead of the name of a table that is not there."""
        if name.lower() == b.INWINDOW and not self.window:
            return "inwindow belongs to window aggregates: CREATE WINDOW AGGREGATE"
        known = [*self.tables, *(t.name for t in self.catalog.all(Table))]
        return suggest(name, known) or f"declare it: TABLE {name} (...);"


def fields_of(schema: Schema) -> tuple[b.Field, ...]:
    """Columns as they are at run time."""
    return tuple(b.Field(c.name, run_type(c.type) or NULL) for c in schema)


@dataclass(frozen=True)
class Scope:
    """Where an expression stands: the inputs of its SELECT, then of those around it."""

    aggregate: Aggregate
    levels: tuple[tuple[QueryInput, ...], ...] = ()

    def inside(self, inputs: tuple[QueryInput, ...]) -> Scope:
        """The scope of a SELECT that stands here."""
        return replace(self, levels=(inputs, *self.levels))

    @property
    def own(self) -> tuple[QueryInput, ...]:
        """The inputs of the innermost SELECT."""
        return self.levels[0] if self.levels else ()

    def column(self, node: exp.Column, clause: str) -> Typed:
        """What a name means."""
        value, type_ = self._found(node, clause)
        if run_type(type_) is None:
            message = f"'{node.name}' is {type_name(type_)}, which bodies of aggregates cannot compute with yet"
            hint = "numbers, texts, truths, dates and times work"
            raise NotYet(message, self.aggregate.text, span_of(node), clause=clause, hint=hint)
        return value, type_

    def _found(self, node: exp.Column, clause: str) -> Typed:
        parts = [p.name for p in node.parts]
        if len(parts) == 1:
            return self._bare(node, parts[0], clause)
        if len(parts) == 2:
            found = self._qualified(node, *parts)
            if found is not None:
                return found
        raise self._unknown(node, parts, clause)

    def _bare(self, node: exp.Column, name: str, clause: str) -> Typed:
        for inputs in self.levels:
            found = [(i, typed) for i in inputs if (typed := i.column(name)) is not None]
            if len(found) > 1:
                raise UnknownName(
                    f"'{name}' is a column of {' and of '.join(i.name for i, _ in found)}",
                    self.aggregate.text,
                    span_of(node),
                    clause=clause,
                    hint=f"say which one: {found[0][0].name}.{name}",
                )
            if found:
                one, (value, type_) = found[0]
                if self.aggregate.hides(name) and isinstance(value, b.ColumnOf):
                    self.aggregate.names.hidden.append(Hidden(node, value, one.name, clause))
                return value, type_
        parameter = self.aggregate.parameter(name)
        if parameter is None:
            raise self._unknown(node, [name], clause)
        return parameter

    def _qualified(self, node: exp.Column, table: str, name: str) -> Typed | None:
        for inputs in self.levels:
            for one in inputs:
                if one.name.lower() == table.lower():
                    found = one.column(name)
                    if found is not None and isinstance(found[0], b.ColumnOf):
                        self.aggregate.names.qualified.append((node, found[0]))
                    return found
        return self.aggregate.parameter(name) if table.lower() == self.aggregate.name.lower() else None

    def _unknown(self, node: exp.Column, parts: list[str], clause: str) -> UnknownName:
        columns = [c.name for inputs in self.levels for one in inputs for c in one.schema]
        known = list(dict.fromkeys([*columns, *self.aggregate.parameters.names]))
        name = ".".join(parts)
        span = span_of(node)
        hint = suggest(parts[-1], known)
        if span and self.aggregate.text[span[0] : span[0] + 1] == '"':
            hint = f"text is written in single quotes: '{name}'"
        elif parts[0].lower() in self.aggregate.tables and not any(
            one.name.lower() == parts[0].lower() for inputs in self.levels for one in inputs
        ):
            hint = f"{parts[0]} is not read here: (SELECT {parts[-1]} FROM {parts[0]})"  # noqa: S608  (a hint)
        message = f"'{name}' is neither a column here nor a parameter of {self.aggregate.name}"
        return UnknownName(message, self.aggregate.text, span, clause=clause, hint=hint)
