"""Queries of bodies to Python comprehensions: one loop per source, each condition as early as it can be told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from millstream.expressions.tree import Call, Value
from millstream.udas.body import Aggregation, CatalogTable, ColumnOf, Grouping, GroupValue, Source, TableQuery, walk
from millstream.udas.generated.code import (
    ATOM,
    CHOICE,
    COMPARISON,
    CONJUNCTION,
    DISJUNCTION,
    Code,
    Namer,
    joined,
    listed,
)
from millstream.udas.generated.runtime import NAMES
from millstream.udas.generated.values import Place, Values, operands


class Tables:
    """How the tables of an aggregate are written, and which of their columns want an index."""

    def __init__(self, variables: dict[str, tuple[str, ...]], attributes: dict[str, str]) -> None:
        self.variables = variables
        self.attributes = attributes
        self.indexed: dict[str, set[int]] = {}

    def text(self, name: str) -> str:
        """A table, as an attribute of the state."""
        return f"self.{self.attributes[name]}"

    def by_index(self, name: str, column: int, value: str) -> str:
        """The rows of a table that have a value in a column."""
        self.indexed.setdefault(name, set()).add(column)
        return f"{self.text(name)}.where({column}, {value})"


class Queries:
    """Writes queries. `runner` writes what runs a user-defined aggregate inside a body."""

    def __init__(self, tables: Tables, runner: Callable[[Aggregation], str], parameters: tuple[str, ...]) -> None:
        self.tables = tables
        self.values = Values(self)
        self._runner = runner
        self._parameters = parameters
        self._names: dict[int, str] = {}
        self._namer = Namer()
        self.begin()

    def begin(self) -> None:
        """A new statement: names of rows may be given again."""
        self._names = {}
        self._namer = Namer([*NAMES, *self._parameters, "self", "result", "group"])

    def row_name(self, source: Source) -> str:
        """The variable for the rows of a source: its alias, or `row`."""
        if source.number not in self._names:
            plain = source.name if source.name != source.relation else "row"
            self._names[source.number] = self._namer.name(plain)
        return self._names[source.number]

    # -- a whole query -------------------------------------------------------------------------------------

    def rows(self, query: TableQuery, place: Place) -> Code:
        """The list of the rows of a query, each a tuple."""
        if query.grouping is not None:
            code = self._grouped(query, query.grouping, place)
        else:
            code = self._collected(query, place)
        if query.distinct:
            code = Code(f"distinct({code.text})")
        if query.limit is not None or query.offset:
            begin = str(query.offset) if query.offset else ""
            end = str(query.offset + query.limit) if query.limit is not None else ""
            code = Code(f"{code.within(ATOM)}[{begin}:{end}]")
        return code

    def exists(self, query: TableQuery, place: Place) -> Code:
        """Whether a query has a row."""
        if query.grouping is None and query.limit is None and not query.offset:
            loops, inner = self._loops(query, place)
            if not loops:
                return Code("True") if inner is None else inner
            condition = inner.within(CHOICE) if inner else "True"
            return Code(f"any({condition} {' '.join(loops)})")
        return Code(f"{self.rows(query, place).within(ATOM)} != []", COMPARISON)

    def scalar(self, query: TableQuery, place: Place) -> Code:
        """The value of the only row of a query, None if there is none."""
        alone = self._lonely(query, place)
        if alone is not None:
            item, condition = alone
            if condition is None:
                return item
            return Code(f"{item.within(DISJUNCTION)} if {condition.within(DISJUNCTION)} else None", CHOICE)
        return Code(f"single({self.rows(query, place).text})")

    def members(self, query: TableQuery, place: Place) -> Code:
        """The list of the values of the first column of a query."""
        if query.grouping or query.distinct or query.order or query.limit is not None or query.offset:
            return Code(f"[row[0] for row in {self.rows(query, place).within(DISJUNCTION)}]")
        item = self.values.value(query.items[0], self._inner(query, place))
        return _list(item.text, *self._loops(query, place))

    def _lonely(self, query: TableQuery, place: Place) -> tuple[Code, Code | None] | None:
        """The first item of a query that has at most one row, and the condition for it."""
        if query.distinct or query.order or query.limit is not None or query.offset:
            return None
        after = self._after_one(query, place)
        if after is not None:
            return self.values.value(query.items[0], after), None
        if self.single_row(query, place) is None:
            return None
        return self.values.value(query.items[0], self._inner(query, place)), self._loops(query, place)[1]

    def single_row(self, query: TableQuery, place: Place) -> tuple[str, Code | None] | None:
        """The row and the condition of a query that reads only variables; None if it may have several rows."""
        shaped = query.grouping or query.distinct or query.order or query.limit is not None or query.offset
        if shaped or any(not self._is_variable(s) for s in query.sources):
            return None
        inner = place
        for source in query.sources:
            inner = self._with_variable(inner, source)
        _, condition = self._loops(query, place)
        return listed(self.values.text(i, inner) for i in query.items), condition

    def _collected(self, query: TableQuery, place: Place) -> Code:
        inner = self._inner(query, place)
        row = listed(self.values.text(i, inner) for i in query.items)
        return self._ordered(query, row, inner, *self._loops(query, place))

    def _ordered(self, query: TableQuery, row: str, inner: Place, loops: list[str], condition: Code | None) -> Code:
        if query.order:
            keys = listed(self.values.text(o.value, inner) for o in query.order)
            terms = listed(f"({o.descending}, {o.nulls_first})" for o in query.order)
            return Code(f"ordered({_list(f'({row}, {keys})', loops, condition).text}, {terms})")
        return _list(row, loops, condition)

    def _after_one(self, query: TableQuery, place: Place) -> Place | None:
        """Where the only aggregate of a query without keys is computed in its place; None for other queries."""
        grouping = query.grouping
        if grouping is None or grouping.keys or grouping.having or len(grouping.aggregations) != 1:
            return None
        (call,) = grouping.aggregations
        uses = sum(isinstance(node, GroupValue) for node in walk(query.items))
        if call.user_defined or uses > 1 or query.order:
            return None
        where = _and(query.where, call.condition)
        inner = self._inner(query, place)
        row = listed(self.values.text(a, inner) for a in call.arguments) if call.arguments else "()"
        members = _list(row, *self._loops(replace(query, where=where), place)).text
        return replace(place, group=lambda _: f"{self._collector(call)}({members})")

    def _grouped(self, query: TableQuery, grouping: Grouping, place: Place) -> Code:
        values = self.values
        one = self._after_one(query, place)
        if one is not None:
            return Code(f"[{listed(values.text(i, one) for i in query.items)}]")
        inner = self._inner(query, place)
        row = [values.text(k, inner) for k in grouping.keys]
        collectors = []
        for call in grouping.aggregations:
            begin = len(row)
            row.append(values.truth(call.condition, inner).text if call.condition else "True")
            row += [values.text(a, inner) for a in call.arguments]
            collectors.append(f"({begin}, {len(row)}, {call.user_defined}, {self._collector(call)})")
        members = _list(listed(row), *self._loops(query, place)).text
        groups = f"grouped({members}, {len(grouping.keys)}, {listed(collectors)})"
        name = self._namer.name("of")
        after = replace(place, group=lambda index: f"{name}[{index}]")
        result = listed(values.text(i, after) for i in query.items)
        having = values.truth(grouping.having, after) if grouping.having else None
        return self._ordered(query, result, after, [f"for {name} in {groups}"], having)

    def _collector(self, call: Aggregation) -> str:
        made = f"{call.function}({', '.join(map(repr, call.options))})" if call.options else call.function
        text = self._runner(call) if call.user_defined else made
        return f"unique({text})" if call.distinct else text

    # -- loops ---------------------------------------------------------------------------------------------

    def _inner(self, query: TableQuery, place: Place) -> Place:
        for source in query.sources:
            place = self._with_row(place, source)
        return place

    def _with_row(self, place: Place, source: Source) -> Place:
        if self._is_variable(source):
            return self._with_variable(place, source)
        name = self.row_name(source)
        return place.with_source(source.number, lambda column: f"{name}[{column}]")

    def _with_variable(self, place: Place, source: Source) -> Place:
        names = self.tables.variables[str(source.relation)]
        return place.with_source(source.number, lambda column: f"self.{names[column]}")

    def _is_variable(self, source: Source) -> bool:
        return isinstance(source.relation, str) and source.relation in self.tables.variables and not source.left

    def _loops(self, query: TableQuery, place: Place) -> tuple[list[str], Code | None]:
        """The `for` and `if` of a comprehension, and the last condition, which stands for itself if there is no for."""
        waiting = conjuncts(query.where)
        for source in query.sources:
            if not source.left:
                waiting += conjuncts(source.on)
        unbound = {s.number for s in query.sources}
        loops: list[str] = []
        ready: list[Code] = []
        for source in query.sources:
            if not loops and not self._is_variable(source):
                ready += self._ready(waiting, unbound, place)
            unbound.discard(source.number)
            if self._is_variable(source):
                place = self._with_variable(place, source)
                continue
            if ready:
                # A condition on what is at hand before any row: the loop runs over nothing if it is not true.
                place, loop = self._loop(source, place, waiting, unbound)
                guard = joined(ready, "and", CONJUNCTION).within(DISJUNCTION)
                head, _, rows = loop.partition(" in ")
                loop, ready = f"{head} in ({rows} if {guard} else ())", []
            else:
                place, loop = self._loop(source, place, waiting, unbound)
            loops.append(loop)
            checks = self._ready(waiting, unbound, place)
            if checks and source is not query.sources[-1]:
                loops[-1] += f" if {joined(checks, 'and', CONJUNCTION).within(DISJUNCTION)}"
            else:
                ready = checks
        ready += self._ready(waiting, unbound, place)
        return loops, joined(ready, "and", CONJUNCTION) if ready else None

    def _ready(self, waiting: list[Value], unbound: set[int], place: Place) -> list[Code]:
        """The conditions that can be told now; they are waited for no longer."""
        found = [c for c in waiting if not free(c) & unbound]
        waiting[:] = [c for c in waiting if free(c) & unbound]
        return [self.values.truth(c, place) for c in found]

    def _loop(self, source: Source, place: Place, waiting: list[Value], unbound: set[int]) -> tuple[Place, str]:
        name = self.row_name(source)
        inner = self._with_row(place, source)
        conditions = conjuncts(source.on) if source.left else waiting
        rows = self.source_rows(source, place, conditions, unbound)
        if source.left:
            checks = [self.values.truth(c, inner) for c in conditions]
            condition = f" if {joined(checks, 'and', CONJUNCTION).within(DISJUNCTION)}" if checks else ""
            rows = f"outer([{name} for {name} in {rows}{condition}], {source.width})"
        return inner, f"for {name} in {rows}"

    def source_rows(self, source: Source, place: Place, conditions: list[Value], unbound: set[int]) -> str:
        """The rows of a source, by an index if one of the conditions asks for equality: it is then taken out."""
        if isinstance(source.relation, TableQuery):
            return self.rows(source.relation, place).within(DISJUNCTION)
        name = source.relation.name if isinstance(source.relation, CatalogTable) else source.relation
        if name in self.tables.variables:  # a LEFT JOIN of a table that is variables
            columns = ", ".join(f"self.{v}" for v in self.tables.variables[name])
            return f"[[{columns}]]"
        for condition in conditions:
            found = _equality(condition, source.number, unbound)
            if found is not None:
                conditions.remove(condition)
                return self.tables.by_index(name, found[0], self.values.text(found[1], place))
        return f"{self.tables.text(name)}.rows()"


def _list(row: str, loops: list[str], condition: Code | None) -> Code:
    if not loops:
        return (
            Code(f"[{row}]")
            if condition is None
            else Code(f"[{row}] if {condition.within(DISJUNCTION)} else []", CHOICE)
        )
    check = f" if {condition.within(DISJUNCTION)}" if condition else ""
    return Code(f"[{row} {' '.join(loops)}{check}]")


def _and(one: Value | None, other: Value | None) -> Value | None:
    if one is None or other is None:
        return one or other
    return Call("and", (one, other), one.type)


def conjuncts(condition: Value | None) -> list[Value]:
    """The parts of a condition that must all be true."""
    if condition is None:
        return []
    return operands(condition) if isinstance(condition, Call) and condition.function == "and" else [condition]


def free(value: Value) -> set[int]:
    """The sources whose rows a value looks at."""
    return {node.source for node in walk(value) if isinstance(node, ColumnOf)}


def _equality(condition: Value, number: int, unbound: set[int]) -> tuple[int, Value] | None:
    """The column of a source and the value that it must have, if that is what a condition says."""
    if not isinstance(condition, Call) or condition.function != "eq":
        return None
    for column, value in (condition.arguments, condition.arguments[::-1]):
        here = isinstance(column, ColumnOf) and column.source == number
        if here and not free(value) & {number, *unbound}:
            return column.index, value  # type: ignore[attr-defined]
    return None
