"""Bodies to kernels: loops over arrays that numba compiles, for bodies whose tables have one row.

The columns of such tables are variables, and every value is a number. A kernel of the first kind folds the tuples of
many groups, in their order or as they come; one of the second steps through the tuples of many partitions, as OVER
does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millstream.expressions.functions.registry import KERNELS
from millstream.expressions.tree import Literal, Value
from millstream.udas.body import (
    INWINDOW,
    Action,
    Body,
    Delete,
    InsertQuery,
    InsertRows,
    Oldest,
    Parameter,
    Source,
    Update,
    one_row_tables,
    returns,
    tables_read,
    walk,
)
from millstream.udas.generated.code import Namer
from millstream.udas.kernels.values import (
    NOTHING,
    KernelValues,
    Lines,
    Pair,
    can_write,
    conditions,
    is_simple,
    nothing,
    single_row,
)

_OWN = (
    *(
        "group",
        "groups",
        "place",
        "seen",
        "has",
        "old",
        "first",
        "start",
        "starts",
        "ends",
        "news",
        "partitions",
        "firsts",
    ),
    *(
        "times",
        "by_time",
        "reach",
        "counts",
        "answers",
        "expired_of",
        "seen_of",
        "has_of",
        "inf",
        "nan",
        "part",
        "row",
        "groups",
    ),
)


def has_kernel(body: Body) -> bool:
    """Whether a body can be a kernel."""
    fields = [*body.parameters, *body.result, *(c for t in body.tables for c in t.columns)]
    alone = {*one_row_tables(body), INWINDOW}
    plain = all(is_simple(f.type) for f in fields) and not body.reads and all(t.name in alone for t in body.tables)
    if not plain or any(isinstance(n, Parameter) for n in walk(body.terminate)):
        return False
    if body.blocking and any(map(returns, (*body.initialize, *body.iterate))):
        return False  # a kernel has room for one row of a tuple
    return all(_fits(actions, part) for part, actions in body.parts.items())


def _fits(actions: tuple[Action, ...], part: str) -> bool:
    if sum(map(returns, actions)) > 1 or INWINDOW in tables_read(actions) or not can_write(actions):
        return False
    if part != "expire" and any(isinstance(n, Oldest) for n in walk(actions)):
        return False
    for action in actions:
        match action:
            case Delete():
                return False
            case InsertRows(table=None, rows=rows):
                if len(rows) > 1:
                    return False
            case InsertQuery(table=table, query=query):
                if table is not None or not single_row(query):
                    return False
    return True


class Writer:
    """Writes the kernels of a body."""

    def __init__(self, body: Body) -> None:
        self.body = body
        namer = Namer([*_OWN, *KERNELS])
        self.parameters = [_pair(namer, field.name) for field in body.parameters]
        self.old = [_pair(namer, f"{field.name}_old") for field in body.parameters]
        self.tables = {
            table.name: [_pair(namer, f"{table.name}_{column.name}") for column in table.columns]
            for table in body.tables
            if table.name != INWINDOW
        }
        self.results = [_pair(namer, f"result_{field.name}") for field in body.result]
        self.variables = [pair for pairs in self.tables.values() for pair in pairs]

    def fold(self) -> str:
        """Group by group from the start: what the body returns with the last tuple, or at the end if it blocks."""
        lines = Lines(0)
        arrays = [*_arrays(self.parameters), "has_of", *_arrays(self.results)]
        lines.begin(f"def fold({', '.join(['starts', 'ends', *arrays])}):")
        lines.begin("for group in range(len(starts)):")
        lines.add("seen = False")
        self._begin(lines)
        lines.begin("for place in range(starts[group], ends[group]):")
        self._tuple(lines)
        lines.end()
        self._last(lines)
        self._store(lines, [("has_of", "has"), *_stored(self.results)], "group")
        return "\n".join(lines.text) + "\n"

    def scatter(self) -> str:
        """Tuple by tuple, each into the state of its group: the same, where the order of tuples does not matter."""
        lines = Lines(0)
        arrays = [*_arrays(self.parameters), "seen_of", *_arrays(self.variables), "has_of", *_arrays(self.results)]
        lines.begin(f"def scatter({', '.join(['groups', *arrays])}):")
        lines.begin("for place in range(len(groups)):")
        lines.add("group = groups[place]")
        self._load(lines, [("seen_of", "seen"), *_stored(self.variables)], "group")
        self._load_nothing(lines)
        self._tuple(lines)
        self._store(lines, [("seen_of", "seen"), *_stored(self.variables)], "group")
        if not self.body.blocking:
            self._store(lines, [("has_of", "has"), *_stored(self.results)], "group")
        lines.end()
        if self.body.blocking:
            lines.begin("for group in range(len(seen_of)):")
            self._load(lines, [("seen_of", "seen"), *_stored(self.variables)], "group")
            self._load_nothing(lines)
            self._last(lines)
            self._store(lines, [("has_of", "has"), *_stored(self.results)], "group")
        return "\n".join(lines.text) + "\n"

    def steps(self) -> str:
        """Partition by partition through the new tuples, from the states so far, with an answer for every tuple.

        `firsts` is where the tuple number 0 of a partition would be; `expired_of` is the number of the oldest tuple
        in the window. `counts` says which tuples come at all.
        """
        lines = Lines(0)
        given = ["news", "ends", "partitions", "firsts", "times", "by_time", "reach", "counts", "answers", "expired_of"]
        arrays = [*_arrays(self.parameters), "seen_of", *_arrays(self.variables), "has_of", *_arrays(self.results)]
        lines.begin(f"def steps({', '.join([*given, *arrays])}):")
        lines.begin("for part in range(len(news)):")
        lines.add("group = partitions[part]")
        lines.add("first = firsts[part]")
        lines.add("old = first + expired_of[group]")
        self._load(lines, [("seen_of", "seen"), *_stored(self.variables)], "group")
        self._load_nothing(lines)
        lines.begin("for place in range(news[part], ends[part]):")
        lines.begin("if not counts[place]:")
        lines.add("continue")
        lines.end()
        if self.body.window:
            self._expire(lines)
        self._tuple(lines)
        lines.begin("if answers[place]:")
        self._last(lines)
        self._store(lines, [("has_of", "has"), *_stored(self.results)], "place")
        lines.end()
        lines.end()
        self._store(lines, [("seen_of", "seen"), *_stored(self.variables)], "group")
        lines.add("expired_of[group] = old - first")
        return "\n".join(lines.text) + "\n"

    # -- what the loops are made of ------------------------------------------------------------------------

    def _begin(self, lines: Lines) -> None:
        """The state of a group that has seen nothing."""
        for table in self.body.tables:
            if table.name == INWINDOW:
                continue
            for number, (pair, column) in enumerate(zip(self.tables[table.name], table.columns, strict=True)):
                first = table.rows[0][number] if table.rows else Literal(None, column.type)
                value = KernelValues(lines, (), {}).value(first)
                value = nothing(column.type) if value == NOTHING else value
                lines.add(f"{pair.value}, {pair.null} = {value.value}, {value.null}")
        self._load_nothing(lines)

    def _load_nothing(self, lines: Lines) -> None:
        lines.add("has = False")
        for pair, field in zip(self.results, self.body.result, strict=True):
            zero = nothing(field.type)
            lines.add(f"{pair.value}, {pair.null} = {zero.value}, {zero.null}")

    def _tuple(self, lines: Lines) -> None:
        """What the tuple at `place` does."""
        self._load(lines, _stored(self.parameters), "place")
        lines.add("has = False")
        if self.body.shared:
            lines.add("seen = True")
            self._actions(lines, self.body.iterate, self.parameters)
            return
        lines.begin("if seen:")
        self._actions(lines, self.body.iterate, self.parameters)
        lines.end()
        lines.begin("else:")
        lines.add("seen = True")
        self._actions(lines, self.body.initialize, self.parameters)
        lines.end()

    def _last(self, lines: Lines) -> None:
        """What is returned at the end, if the body blocks."""
        if self.body.blocking:
            lines.add("has = False")
            lines.begin("if seen:")
            self._actions(lines, self.body.terminate, ())
            lines.end()

    def _expire(self, lines: Lines) -> None:
        """EXPIRE for all tuples that have left the window when the one at `place` comes."""
        lines.add("start = times[place] - reach if by_time else place - reach")
        # Of an unbounded frame, whose reach is negative, old tuples are not there to be looked at.
        lines.begin("while reach >= 0 and old < place and (times[old] if by_time else old) < start:")
        lines.begin("if counts[old]:")
        for of, pair in zip(self.parameters, self.old, strict=True):
            lines.add(f"{pair.value}, {pair.null} = {of.value}_of[old], {of.null}_of[old]")
        self._actions(lines, self.body.expire, self.old)
        lines.end()
        lines.add("old += 1")
        lines.end()

    def _actions(self, lines: Lines, actions: tuple[Action, ...], parameters: Sequence[Pair]) -> None:
        for action in actions:
            self._action(lines, action, KernelValues(lines, parameters, self.tables))
        if not actions:
            lines.add("pass")

    def _action(self, lines: Lines, action: Action, values: KernelValues) -> None:
        match action:
            case InsertRows(table=table, rows=(row,), where=where):
                targets = self.results if table is None else self.tables[table]
                _assign(lines, values, targets, row, [] if where is None else [where], table is None)
            case InsertQuery(query=query):
                values.meets(query)
                _assign(lines, values, self.results, query.items, conditions(query), True)
            case Update(table=table, source=source, columns=columns, values=new, where=where):
                values.stands_for(source.number, table)
                targets = [self.tables[table][c] for c in columns]
                _assign(lines, values, targets, new, [] if where is None else [where], False)

    def _load(self, lines: Lines, stored: Iterable[tuple[str, str]], index: str) -> None:
        for array, name in stored:
            lines.add(f"{name} = {array}[{index}]")

    def _store(self, lines: Lines, stored: Iterable[tuple[str, str]], index: str) -> None:
        for array, name in stored:
            lines.add(f"{array}[{index}] = {name}")


def rowwise(parameters: Sequence[Pair], tables: dict[str, list[Pair]], body: Body, items: Sequence[Value]) -> str:
    """A kernel that computes values for each of many rows, from parameters and variables that are given as arrays."""
    lines = Lines(0)
    results = [Pair(f"result{i}", f"result{i}_null") for i in range(len(items))]
    variables = [pair for pairs in tables.values() for pair in pairs]
    lines.begin(f"def rowwise({', '.join(['rows', *_arrays([*parameters, *variables, *results])])}):")
    lines.begin("for row in range(rows):")
    for array, name in _stored([*parameters, *variables]):
        lines.add(f"{name} = {array}[row]")
    values = KernelValues(lines, parameters, tables)
    for source, table in _sources(body):
        values.stands_for(source, table)
    for result, item in zip(results, items, strict=True):
        pair = values.value(item)
        lines.add(f"{result.value}_of[row], {result.null}_of[row] = {pair.value}, {pair.null}")
    return "\n".join(lines.text) + "\n"


def _sources(body: Body) -> Iterable[tuple[int, str]]:
    for node in walk(tuple(body.parts.values())):
        if isinstance(node, Source) and isinstance(node.relation, str):
            yield node.number, node.relation


def _assign(
    lines: Lines, values: KernelValues, targets: Sequence[Pair], new: Sequence[Value], where: list[Value], answers: bool
) -> None:
    """Give variables new values, all computed before any is given, if the conditions are true."""
    if where:
        lines.begin(f"if {values.all_true(where)}:")
    pairs = [values.value(value) for value in new]
    left = ", ".join(name for target in targets for name in target)
    lines.add(f"{left} = {', '.join(text for pair in pairs for text in pair)}")
    if answers:
        lines.add("has = True")
    if where:
        lines.end()


def _pair(namer: Namer, wanted: str) -> Pair:
    name = namer.name(wanted)
    namer.reserve([f"{name}_null", f"{name}_of", f"{name}_null_of"])
    return Pair(name, f"{name}_null")


def _arrays(pairs: Iterable[Pair]) -> list[str]:
    return [f"{name}_of" for pair in pairs for name in pair]


def _stored(pairs: Iterable[Pair]) -> list[tuple[str, str]]:
    return [(f"{name}_of", name) for pair in pairs for name in pair]
