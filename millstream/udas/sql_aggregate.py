"""User-defined aggregates in the algebra of the others, so that every window can compute them.

The state of a group is what it has seen, in no order; to finish is to run the body over it in the order of time, and of
arrival as far as that is told. That
is how the language derives a missing version: a finite window is the base aggregate over the tuples in it.

Of an ALGEBRAIC aggregate no tuples are kept. The state of a group is the answer over a part: the rows that the body
returned, with the time of the first tuple. Two parts become one by running the body over the rows of the earlier and
then of the later. So its author promises that it does not matter how tuples are cut into parts; whether tuples of one
pane may come in any order, too, is for the aggregate to bear, since parts of a pane are made as its tuples come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.aggregates.codes import objects
from millstream.aggregates.contract import Aggregate, Groups, Numbers, State, Times
from millstream.aggregates.tally import with_numbers
from millstream.expressions.arrow.types import arrow_type, column_of
from millstream.expressions.tree import Type
from millstream.structure import Structure
from millstream.udas.arrow import from_values, to_values
from millstream.udas.body import Body, Field
from millstream.udas.generated import states
from millstream.udas.generated.compiled import Compiled, compile_aggregate
from millstream.udas.generated.tables import Table
from millstream.udas.structure import structure_of

Contents = Mapping[str, Sequence[Sequence[Any]]]
"""The rows of tables of the catalog, by the names of the tables."""

Seen = tuple[Any, tuple[Any, ...]]
"""A tuple: its time, also its number by arrival if that is told, and the values of the arguments; or a row of a part:
the time of the part, and its values."""

_WIDER = [["int8", "int16", "int32", "int64"], ["float32", "float64"]]


@dataclass(frozen=True)
class Versions:
    """The versions of an aggregate that a user has declared; at least one is there."""

    base: Body | None
    window: Body | None

    @property
    def any(self) -> Body:
        """The base version if there is one."""
        body = self.base or self.window
        assert body is not None  # noqa: S101
        return body

    @property
    def algebraic(self) -> bool:
        """Whether answers over parts combine into those over the whole: one declares it, and the types allow it."""
        declared = any(body is not None and body.algebraic for body in (self.base, self.window))
        return declared and _feeds(self.any.result, self.any.parameters)


class SqlAggregate(Aggregate):
    """An aggregate with a body in SQL. Its answers are lists of rows: a body returns none, one or many.

    `contents` are the tables of the catalog that it reads; before they are known, it cannot run.
    """

    def __init__(self, versions: Versions, contents: Contents | None = None) -> None:
        super().__init__([arrow_type(field.type) for field in versions.any.parameters])
        self.versions = versions
        self._contents = contents or {}
        self.body = versions.any
        self.algebraic = versions.algebraic
        # What is kept of a group: the rows of a part, or the tuples.
        self._kept = tuple(arrow_type(f.type) for f in self.body.result) if self.algebraic else self.arguments

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name that the user gave it."""
        return self.body.name

    @property
    def definition(self) -> Structure:
        """Its bodies: how its state is kept follows from all that they do."""
        return ("sql", structure_of(self.versions.base), structure_of(self.versions.window))

    @property
    def row(self) -> pa.DataType:
        """The type of a row that it returns."""
        return pa.struct([pa.field(field.name, arrow_type(field.type)) for field in self.body.result])

    @property
    def result(self) -> pa.DataType:
        """Lists of rows."""
        return pa.list_(self.row)

    @property
    def components(self) -> tuple[pa.DataType, ...]:
        """The tuples that a group has seen, or the rows of the part that it is."""
        values = [pa.field(f"a{i}", type_) for i, type_ in enumerate(self._kept)]
        arrival = [pa.field("arrival", pa.int64())] if self.arriving else []
        return (pa.list_(pa.struct([pa.field("time", pa.int64()), *arrival, *values])),)

    def zero(self, groups: int) -> State:
        """Nothing seen."""
        return (np.full(groups, None, dtype=object),)

    def reduce(self, state: State, groups: Groups, arguments: Sequence[pa.Array], times: Times) -> State:
        """Remember the tuples, or what the body returns over them."""
        given = len(arguments) - self.arriving
        moments = list(zip(times.tolist(), arguments[-1].to_pylist(), strict=True)) if self.arriving else times.tolist()
        columns = [to_values(column) for column in arguments[:given]]
        values = list(zip(*columns, strict=True)) if columns else [()] * len(times)
        come: dict[int, list[Seen]] = {}
        for group, seen in zip(groups.tolist(), zip(moments, values, strict=True), strict=True):
            come.setdefault(group, []).append(seen)
        (known,) = state
        for group, tuples in come.items():
            known[group] = self._both(known[group], self._part(tuples) if self.algebraic else tuples)
        return state

    def merge(self, left: State, right: State) -> State:
        """All that both have seen."""
        return (objects([self._both(a, b) for a, b in zip(left[0], right[0], strict=True)]),)

    def finish(self, state: State) -> pa.Array:
        """Run the body over what each group has seen."""
        answers = [[values for _, values in part or ()] if self.algebraic else self.run(part) for part in state[0]]
        return from_values(answers, self.body.result, self.row)

    def reading(self, contents: Contents) -> SqlAggregate:
        """The same with the rows of the tables of the catalog that it reads."""
        return _made(type(self), self.versions, contents, self.arriving)

    @property
    def by_order(self) -> bool:  # type: ignore[override]
        """Whether the order of tuples of one time stamp matters: declared ALGEBRAIC, it does not."""
        return not self.algebraic

    def told_of_arrival(self) -> SqlAggregate:
        """The same with one more argument: the numbers by which tuples arrived."""
        return _made(type(self), self.versions, self._contents, True)

    def renumbered(self, columns: Sequence[pa.Array], number: Callable[[Numbers], Numbers]) -> list[pa.Array]:
        """The tuples with other numbers."""
        return [with_numbers(columns[0], number)]

    def catalog_tables(self, compiled: Compiled) -> dict[str, Table]:
        """The tables of the catalog as one of its versions reads them."""
        return {read.name: compiled.table(read.name, self._contents[read.name]) for read in compiled.body.reads}

    @cached_property
    def _tables(self) -> dict[str, Table]:
        return self.catalog_tables(self._compiled)

    @cached_property
    def _compiled(self) -> Compiled:
        # Kept: to find it anew by its body would take longer than a small group does.
        return compile_aggregate(self.body)

    def run(self, seen: list[Seen] | None) -> states.Rows:
        """What the body returns over tuples in whatever order."""
        return self.run_in_order(sorted(seen, key=in_order)) if seen else []

    def run_in_order(self, seen: Iterable[Seen]) -> states.Rows:
        """What the body returns last over tuples in their order: with the last tuple, and at the end."""
        state = self._compiled.new(self._tables)
        rows: states.Rows = []
        for number, (_, values) in enumerate(seen):
            if isinstance(state, states.WindowState):
                state.enter(values, number)
            rows = state.add(*values)
        return rows + state.terminate() if state.seen else rows

    def _part(self, tuples: list[Seen]) -> list[Seen] | None:
        start = min(time for time, _ in tuples)
        return [(start, values) for values in self.run(tuples)] or None

    def _both(self, left: list[Seen] | None, right: list[Seen] | None) -> list[Seen] | None:
        if not left or not right:
            return left or right
        if not self.algebraic:
            return left + right
        earlier, later = sorted((left, right), key=lambda part: [in_order(row) for row in part])
        return [(earlier[0][0], values) for values in self.run_in_order([*earlier, *later])] or None

    def pack(self, state: State) -> list[pa.Array]:
        """The tuples as lists."""
        (type_,) = self.components
        flat = [t for seen in state[0] for t in seen or ()]
        moments = [moment for moment, _ in flat] if self.arriving else [(time,) for time, _ in flat]
        columns = [pa.array([moment[i] for moment in moments], pa.int64()) for i in range(1 + self.arriving)]
        for i, kind in enumerate(self._kept):
            columns.append(column_of([values[i] for _, values in flat], kind))
        offsets = np.cumsum([0, *(len(seen or ()) for seen in state[0])])
        tuples = pa.StructArray.from_arrays(columns, fields=list(type_.value_type))
        return [pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), tuples)]

    def unpack(self, columns: Sequence[pa.Array]) -> State:
        """What was packed."""
        (column,) = columns
        tuples = column.flatten()
        begin = 1 + self.arriving
        moments = [tuples.field(i).to_pylist() for i in range(begin)]
        times = list(zip(*moments, strict=True)) if self.arriving else moments[0]
        values = list(zip(*(to_values(tuples.field(begin + i)) for i in range(len(self._kept))), strict=True))
        seen = list(zip(times, values if self._kept else [()] * len(times), strict=True))
        return (objects(list(_pieces(seen, column.value_lengths().to_pylist()))),)

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self), self.versions, self._contents, self.arriving)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, SqlAggregate) and other.versions == self.versions

    def __hash__(self) -> int:
        return hash(self.versions)


def _made(kind: type[SqlAggregate], versions: Versions, contents: Contents, arriving: bool) -> SqlAggregate:
    """An aggregate, which may be told of the arrival of tuples."""
    found = kind(versions, contents)
    if arriving:
        found.arguments = (*found.arguments, pa.int64())
        found.arriving = True
    return found


def in_order(seen: Seen) -> tuple[Any, ...]:
    """Where a tuple comes: by time, and tuples of one time by their values, NULL first and NaN last."""
    time, values = seen
    return (time, *map(_place, values))


def _place(value: Any) -> tuple[Any, ...]:
    if value is None:
        return (0,)
    return (2,) if isinstance(value, float) and math.isnan(value) else (1, value)


def _feeds(result: Sequence[Field], parameters: Sequence[Field]) -> bool:
    """Whether rows of a result can be the input of the same aggregate."""
    pairs = [(given.type, wanted.type) for given, wanted in zip(result, parameters, strict=False)]
    return len(result) == len(parameters) and all(_fits(given, wanted) for given, wanted in pairs)


def _fits(given: Type, wanted: Type) -> bool:
    widths = next((w for w in _WIDER if given.name in w and wanted.name in w), None)
    return given == wanted if widths is None else widths.index(given.name) <= widths.index(wanted.name)


def _pieces(seen: list[Seen], lengths: list[int]) -> Iterator[list[Seen] | None]:
    start = 0
    for length in lengths:
        yield seen[start : start + length] or None
        start += length
