"""FROM with several inputs: joins within windows, joins with tables, and IN and EXISTS, which are joins too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from millstream.catalog.arrow import to_arrow
from millstream.catalog.schema import Schema, SqlType, type_name
from millstream.catalog.select import Equality, Item, Select, TableJoinSpec, WindowJoinSpec
from millstream.errors import EslSyntaxError, NameTaken, NotYet, Refused, TypeMismatch, UnknownName
from millstream.expressions.build.bound import column_of, tree_of
from millstream.expressions.build.types import sql_type_for
from millstream.expressions.reading import all_of, bare, columns_of, span_of, terms_of
from millstream.expressions.tree import BOOL, INTERVAL, TIMESTAMP, Call, Column, Literal, Value
from millstream.language.bind.expressions import bind_predicate
from millstream.language.bind.one_sided import OneSided, check_pairs
from millstream.language.bind.scope import Member, Scope
from millstream.language.bind.window_time import window_time
from millstream.language.clauses.join_window import JoinWindow
from millstream.language.clauses.time_bounds import time_bounds
from millstream.language.parse.conditions import draws_lots
from millstream.language.parse.spans import span_of as place_of
from millstream.language.parse.statements import Name, Span
from millstream.language.types.coercion import is_unknown, wider
from millstream.language.types.infer import infer
from millstream.windows.join_kind import JoinKind
from millstream.windows.reach import Band, Reach, SameTumble

WINDOW_HINT = (
    "give both a window, as in FROM a [RANGE 3 MINUTES, WA ts], b [RANGE 2 MINUTES, WA ts], or bound their times: "
    "b.ts BETWEEN a.ts - INTERVAL '2' MINUTES AND a.ts + INTERVAL '3' MINUTES"
)


@dataclass(frozen=True)
class JoinInput:
    """One input as it was written: what it is, its window, and where it stands."""

    scope: Scope
    window: JoinWindow | None
    span: Span | None


@dataclass(frozen=True)
class Join:
    """An input that is joined to those before it."""

    input: JoinInput
    kind: JoinKind
    conditions: tuple[exp.Expression, ...] = ()
    using: tuple[exp.Identifier, ...] = ()


@dataclass(frozen=True)
class _Side:
    """What has been joined so far, or the next input: a SELECT whose columns have their final names."""

    select: Select
    members: tuple[Member, ...]
    times: tuple[str, ...]
    windows: tuple[JoinWindow | None, ...]
    span: Span | None

    @property
    def names(self) -> str:
        return " and ".join(m.name for m in self.members)

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(self.select.schema.names)


@dataclass(frozen=True)
class Joiner:
    """Joins inputs from left to right. Of a FROM that is `shared`, WHERE says only how they meet."""

    text: str
    shared: bool = False

    def join(
        self, first: JoinInput, joins: Sequence[Join], where: Sequence[exp.Expression]
    ) -> tuple[Scope, list[exp.Expression]]:
        """What the names of the SELECT can mean, and the conditions of WHERE that are left to it.

        Where all joins are inner ones, WHERE says as much as ON does; but lots are drawn for each row, in WHERE alone.
        """
        inputs = [first, *(j.input for j in joins)]
        names = self._names(inputs, [j.kind for j in joins])
        named = next((i.window.time for i in inputs if i.window is not None and i.window.time is not None), None)
        sides = [self._side(i, n, named) for i, n in zip(inputs, names, strict=True)]
        pairs = [(j, s) for j, s in zip(joins, sides[1:], strict=True) if j.kind.paired]
        waiting = [c for c in where if not draws_lots(c)] if all(j.kind is JoinKind.INNER for j, _ in pairs) else []
        left_over = [c for c in where if c not in waiting]
        whole = self._scope([sides[0], *(replace(s, members=_merged(s, j)) for j, s in pairs)])
        bound = [(c, tree_of(bind_predicate(c, whole, self.text, "WHERE"))) for c in waiting]
        if self.shared:
            left_over += [c for c, b in bound if any(columns_of(b) <= s.columns for s in sides)]
            bound = [(c, b) for c, b in bound if c not in left_over]
        side = sides[0]
        for join, right in zip(joins, sides[1:], strict=True):
            here = side.columns | right.columns
            ready = [b for _, b in bound if columns_of(b) <= here] if join.kind is JoinKind.INNER else []
            bound = [(c, b) for c, b in bound if b not in ready]
            side = self._joined(side, right, join, ready)
        left_over += [c for c, _ in bound]
        return self._scope([side]), left_over

    # -- inputs --------------------------------------------------------------------------------------------

    def _names(self, inputs: Sequence[JoinInput], kinds: Sequence[JoinKind]) -> list[dict[str, str]]:
        """What the columns of each input are called: names that several have get the name of the input before them.

        Not with a dot between: PySpark would take that for a field of a struct.
        """
        aliases: set[str] = set()
        for i, kind in zip(inputs, [JoinKind.INNER, *kinds], strict=True):
            if i.scope.name.lower() in aliases and kind.paired:
                hint = f"give one of them another name: {i.scope.name} AS x"
                message = f"two inputs are named '{i.scope.name}'"
                raise NameTaken(message, self.text, i.span, clause="FROM", hint=hint)
            aliases.add(i.scope.name.lower())
        seen: dict[str, int] = {}
        for i in inputs:
            for column in i.scope.schema:
                seen[column.name.lower()] = seen.get(column.name.lower(), 0) + 1
        taken: set[str] = set()
        names = []
        for i in inputs:
            mine = {}
            for column in i.scope.schema:
                name = column.name if seen[column.name.lower()] == 1 else f"{i.scope.name}:{column.name}"
                while name.lower() in taken:  # a subquery may read a stream that is read outside of it too
                    name = f"{name}'"
                taken.add(name.lower())
                mine[column.name] = name
            names.append(mine)
        return names

    def _side(self, given: JoinInput, names: dict[str, str], named: Name | None) -> _Side:
        scope = given.scope
        items = tuple(Item(names[c.name], column_of(c.name, c.type), c.type) for c in scope.schema)
        time = self._time(given, named)
        select = Select(scope.source, items, None, scope.bounded, names[time] if time else None)
        member = Member(scope.name, {old.lower(): new for old, new in names.items()})
        times = tuple(names[t] for t in dict.fromkeys((*([time] if time else []), *scope.other_times)))
        return _Side(select, (member,), times, (given.window,), given.span)

    def _time(self, given: JoinInput, named: Name | None) -> str | None:
        """The column along which an input is joined; None if it has none. A table may have that of another window."""
        window, scope = given.window, given.scope
        if window is not None and window.time is not None:
            return window_time(window.time, scope, self.text, window.span)
        if scope.bounded and scope.time is None and named is not None and scope.find(named.text):
            return window_time(named, scope, self.text, named.span)
        return scope.time

    def _scope(self, sides: Sequence[_Side]) -> Scope:
        first = sides[0]
        schema = Schema(c for side in sides for c in side.select.schema)
        members = tuple(m for side in sides for m in side.members)
        bounded = all(side.select.bounded for side in sides)
        name = " and ".join(m.name for m in members)
        time, others = (first.times[0], first.times[1:]) if first.times else (None, ())
        return Scope(name, schema, bounded, time, source=first.select, members=members, other_times=others)

    # -- one join ------------------------------------------------------------------------------------------

    def _joined(self, left: _Side, right: _Side, join: Join, ready: Sequence[Value]) -> _Side:
        scope = self._scope([left, right if join.kind.paired else _unnamed(right)])
        merged = self._using(left, right, join)
        written = [tree_of(bind_predicate(c, scope, self.text, "ON")) for c in join.conditions]
        conditions = [part for c in (*merged, *written, *ready) for part in terms_of(c)]
        plain = right.select.bounded and not left.select.bounded
        windows = [w for w in (*left.windows, *right.windows) if w is not None]
        if left.select.bounded != right.select.bounded or (left.select.bounded and not windows):
            return self._with_table(left, right, join, conditions, swapped=not plain and not right.select.bounded)
        return self._within_window(left, right, join, conditions)

    def _using(self, left: _Side, right: _Side, join: Join) -> list[Value]:
        terms: list[Value] = []
        for name in join.using:
            ours = next((m.columns[name.name.lower()] for m in left.members if name.name.lower() in m.columns), None)
            theirs = right.members[0].columns.get(name.name.lower())
            if ours is None or theirs is None:
                where = left.names if ours is None else right.names
                message, hint = f"no column '{name.name}' in {where}", "USING names columns that both have"
                raise UnknownName(message, self.text, place_of(name), clause="USING", hint=hint)
            if join.kind in {JoinKind.RIGHT, JoinKind.FULL}:
                hint = "write ON, and choose a column: coalesce(a.k, b.k)"
                message = f"USING cannot say which '{name.name}' is meant where one may be missing"
                raise EslSyntaxError(message, self.text, place_of(name), clause="USING", hint=hint)
            term = exp.EQ(this=exp.column(exp.to_identifier(ours)), expression=exp.column(exp.to_identifier(theirs)))
            infer(term, {**_types(left), **_types(right)})
            terms.append(tree_of(term))
        return terms

    def _side_of(self, left: _Side, right: _Side, join: Join, select: Select, times: tuple[str, ...]) -> _Side:
        others = _merged(right, join) if join.kind.paired else ()
        windows = (*left.windows, *(right.windows if join.kind.paired else ()))
        return _Side(select, (*left.members, *others), times, windows, left.span)

    # -- with a table --------------------------------------------------------------------------------------

    def _with_table(self, left: _Side, right: _Side, join: Join, conditions: Sequence[Value], swapped: bool) -> _Side:
        """A join of which at least one side is a table: no window is needed, as the table is there."""
        kind, stream, table = join.kind, left, right
        if swapped:  # the stream is on the right
            stream, table = right, left
            mirrored = {JoinKind.INNER: JoinKind.INNER, JoinKind.RIGHT: JoinKind.LEFT}
            if kind not in mirrored:
                raise self._endless_table(table, kind, right.span)
            kind = mirrored[kind]
        elif not left.select.bounded and kind in {JoinKind.RIGHT, JoinKind.FULL}:
            raise self._endless_table(table, kind, right.span)
        if window := next((w for w in table.windows if w is not None), None):
            message, hint = f"{table.names} is a table and has no window", "leave the window out"
            raise EslSyntaxError(message, self.text, window.span, clause="FROM", hint=hint)
        joined = TableJoinSpec(stream.select, table.select, kind, all_of(conditions))
        if not kind.paired and not stream.select.bounded:
            theirs = [c for c in conditions if columns_of(c) <= table.columns]
            rest = [c for c in conditions if c not in theirs]
            joined = TableJoinSpec(stream.select, _filtered(table.select, theirs), kind, all_of(rest))
            equalities = [self._equality(c, stream, table) for c in rest]
            if None in equalities or not equalities:
                raise NotYet(
                    f"a {kind.value} join with a table by other conditions than equality is part of the language, but "
                    "this version cannot run it yet",
                    self.text,
                    right.span,
                    clause="FROM",
                    hint="join the table, and choose with WHERE",
                )
            joined = replace(joined, equalities=tuple(e for e in equalities if e is not None))
        select = self._of(joined, stream, table, kind, stream.times)
        return self._side_of(left, right, join, select, stream.times)

    def _endless_table(self, table: _Side, kind: JoinKind, span: Span | None) -> Refused:
        return Refused(
            f"a {kind.value} join would have to say which rows of the table {table.names} no tuple will ever match",
            self.text,
            span,
            clause="FROM",
            hint="keep the tuples of the stream instead, with the stream on the left: s LEFT JOIN t",
        )

    def _of(
        self, source: WindowJoinSpec | TableJoinSpec, left: _Side, right: _Side, kind: JoinKind, times: tuple[str, ...]
    ) -> Select:
        columns = [*left.select.schema, *(right.select.schema if kind.paired else ())]
        items = tuple(Item(c.name, column_of(c.name, c.type), c.type) for c in columns)
        bounded = left.select.bounded and right.select.bounded
        return Select(source, items, None, bounded, times[0] if times else None, other_times=times[1:])

    # -- within a window -----------------------------------------------------------------------------------

    def _within_window(self, left: _Side, right: _Side, join: Join, conditions: Sequence[Value]) -> _Side:
        for side in (left, right):
            if not side.times:
                raise Refused(
                    f"{side.names} has no time stamp, and streams are joined along their time stamps",
                    self.text,
                    side.span,
                    clause="FROM",
                    hint="declare the stream with ORDER BY its time-stamp column",
                )
        kind = join.kind
        reach, times, rest = self._reach(left, right, list(conditions))
        equalities, residual = [], []
        ours: list[Value] = []
        theirs: list[Value] = []
        for condition in rest:
            read = columns_of(condition)
            if read <= left.columns and kind in {JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI}:
                ours.append(condition)
            elif read <= right.columns and kind not in {JoinKind.RIGHT, JoinKind.FULL}:
                theirs.append(condition)
            elif (equality := self._equality(condition, left, right)) is not None:
                equalities.append(equality)
            else:
                residual.append(condition)
        inner = kind is JoinKind.INNER
        before = OneSided((_types(left), _types(right)))
        if not inner:
            residual = [before.taken_from(condition) for condition in residual]
            check_pairs(residual, kind, self.text, right.span)
        sides = (_filtered(left.select, ours, before.items[0]), _filtered(right.select, theirs, before.items[1]))
        joined = WindowJoinSpec(*sides, kind, reach, times, tuple(equalities), None if inner else all_of(residual))
        kept = {JoinKind.INNER: (*left.times, *right.times), JoinKind.RIGHT: right.times, JoinKind.FULL: ()}.get(
            kind, left.times
        )
        select = self._of(joined, left, right, kind, kept)
        if inner:  # pairs that do not match need not be known as such
            select = _filtered(select, residual)
        return self._side_of(left, right, join, select, kept)

    def _reach(self, left: _Side, right: _Side, conditions: list[Value]) -> tuple[Reach, tuple[str, str], list[Value]]:
        """How near in time tuples must be, along which columns, and the conditions that are left."""
        windows = [w for w in (*left.windows, *right.windows) if w is not None]
        time = right.times[0]
        if tumbling := [w for w in windows if w.tumbling]:
            lengths = {w.range for w in tumbling}
            if len(lengths) > 1 or len(tumbling) < len(windows):
                message, hint = "the windows of the inputs differ", "give both the same RANGE TUMBLING, or give it once"
                raise EslSyntaxError(message, self.text, windows[-1].span, clause="window", hint=hint)
            return SameTumble(tumbling[0].range or 0), (left.times[0], time), conditions
        if windows:
            ours = [w.range if w else 0 for w in left.windows]
            theirs = [w.range if w else 0 for w in right.windows]
            low = None if theirs[0] is None else -theirs[0]
            for other, range_ in zip(left.times[1:], ours[1:], strict=False):
                conditions += _between(other, time, low, range_)
            return Band(low, ours[0]), (left.times[0], time), conditions
        for ours_time in left.times:
            found = time_bounds(conditions, ours_time, time)
            if found.low is not None and found.high is not None:
                return Band(found.low, found.high), (ours_time, time), list(found.rest)
        raise Refused(
            f"a join of the streams {left.names} and {right.names} needs a window: without one it would have to "
            "remember every tuple for ever",
            self.text,
            right.span,
            clause="FROM",
            hint=WINDOW_HINT,
        )

    def _equality(self, condition: Value, left: _Side, right: _Side) -> Equality | None:
        """The term that a hash can look up, None if the condition is something else."""
        if not isinstance(condition, Call) or condition.function != "eq":
            return None
        one, other = map(bare, condition.arguments)
        if columns_of(one) <= right.columns and columns_of(other) <= left.columns:
            one, other = other, one
        elif not (columns_of(one) <= left.columns and columns_of(other) <= right.columns):
            return None
        if not columns_of(one) or not columns_of(other):
            return None
        type_ = wider(sql_type_for(one.type), sql_type_for(other.type), texts=False)
        if type_ is None or is_unknown(type_) or to_arrow(type_) is None:
            if type_ is not None and not is_unknown(type_):
                raise TypeMismatch(
                    f"streams cannot be joined by {type_name(type_)}", self.text, span_of(condition) or right.span
                )
            return None
        return Equality(one, other, type_)


def _merged(right: _Side, join: Join) -> tuple[Member, ...]:
    """The members of the right side; a column of USING is meant on the left, where its name stands alone."""
    merged = frozenset(name.name.lower() for name in join.using)
    return replace(right.members[0], merged=merged), *right.members[1:]


def _unnamed(side: _Side) -> _Side:
    """The input of a subquery: its own names have its name before them already, others mean what is outside."""
    members = tuple(replace(m, merged=frozenset(m.columns)) for m in side.members)
    return replace(side, members=members)


def _filtered(select: Select, conditions: Sequence[Value], computed: Sequence[Item] = ()) -> Select:
    """The rows for which conditions hold, with more columns that are computed of them."""
    condition = all_of(conditions)
    if condition is None and not computed:
        return select
    items = (*(Item(c.name, column_of(c.name, c.type), c.type) for c in select.schema), *computed)
    return Select(select, items, condition, select.bounded, select.time, other_times=select.other_times)


def _between(left: str, right: str, low: int | None, high: int | None) -> list[Value]:
    """The condition that right - left is in [low, high]."""
    terms: list[Value] = []
    if low is not None:
        terms.append(Call("ge", (Column(right, TIMESTAMP), _later(left, low)), BOOL))
    if high is not None:
        terms.append(Call("le", (Column(right, TIMESTAMP), _later(left, high)), BOOL))
    return terms


def _later(name: str, micros: int) -> Value:
    seconds = f"INTERVAL '{abs(micros) / 1_000_000}' SECOND"
    function = "add_interval" if micros >= 0 else "subtract_interval"
    return Call(function, (Column(name, TIMESTAMP), Literal(abs(micros), INTERVAL, seconds)), TIMESTAMP)


def _types(side: _Side) -> dict[str, SqlType]:
    return {c.name: c.type for c in side.select.schema}


def not_in(text: str, span: Span | None) -> NotYet:
    """NOT IN is no anti join: one NULL among the values makes it true for none."""
    message = "NOT IN with a subquery is part of the language, but this version cannot run it yet"
    hint = "write NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k), which also says what NULLs mean"
    return NotYet(message, text, span, clause="WHERE", hint=hint)
