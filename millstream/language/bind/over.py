"""SELECTs with OVER: each tuple gets the answers over its frames, beside its own columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.aggregates import registry
from millstream.catalog.arrow import to_arrow
from millstream.catalog.schema import Schema, type_name
from millstream.catalog.select import Item, OverAggregateSpec, OverCallSpec, Select
from millstream.errors import EslError, EslSyntaxError, NotYet, Refused, TypeMismatch, UnknownName, suggest
from millstream.expressions.build.bound import tree_of
from millstream.expressions.reading import columns_of
from millstream.expressions.tree import Column, Value
from millstream.language.bind.bounded import bounded_clauses, refuse_unbounded
from millstream.language.bind.calls.calls import WrittenCall, bind_call, same_call, written_call
from millstream.language.bind.calls.user_calls import columns_of_rows
from millstream.language.bind.expressions import bind_expression, bind_predicate
from millstream.language.bind.items import bind_items, default_name
from millstream.language.bind.scope import Scope
from millstream.language.bind.window_time import window_time
from millstream.language.clauses.over_clause import OverClause, named_windows, over_clause
from millstream.language.clauses.window_clause import clause_tokens, is_over
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.nodes import EslWindow
from millstream.language.parse.spans import span_of
from millstream.language.parse.statements import Name
from millstream.language.parse.written import written
from millstream.language.types import functions
from millstream.udas.body import returns
from millstream.windows.emit import NOTHING_TO_EMIT_EARLY


def overs_of(query: exp.Select) -> list[EslWindow]:
    """The aggregates with OVER among the columns of a SELECT, its HAVING and its ORDER BY."""
    parts = [*query.expressions, *filter(None, [query.args.get("having"), query.args.get("order")])]
    return [n for p in parts for n in p.find_all(EslWindow) if is_over(n)]


@dataclass
class _Group:
    """The calls of one PARTITION BY, and of one column of time, which only tables can choose.

    Without time stamps frames of rows go `by_arrival`, and those of time by the stamps that tuples get: apart.
    """

    keys: tuple[Item, ...]
    time: str | None
    by_arrival: bool = False
    calls: list[OverCallSpec] = field(default_factory=list)


@dataclass
class _Frames:
    """The calls of a SELECT, found while its columns are read."""

    scope: Scope
    text: str
    named: dict[str, OverClause]
    bare: OverClause | None = None
    groups: dict[tuple[object, ...], _Group] = field(default_factory=dict)
    clauses: list[OverClause] = field(default_factory=list)

    @property
    def calls(self) -> list[OverCallSpec]:
        """All calls, in the order of their groups."""
        return [call for group in self.groups.values() for call in group.calls]

    @property
    def answers(self) -> Scope:
        """The columns of the source and the answers."""
        columns = [column for c in self.calls for column in c.call.columns]
        return replace(self.scope, schema=Schema([*self.scope.schema, *columns]))

    def without_overs(self, node: exp.Expression) -> exp.Expression:
        """The expression with the columns of the answers in place of the calls."""
        replaced: exp.Expression = node.transform(self._answer)
        return replaced

    def _answer(self, node: exp.Expression) -> exp.Expression:
        if isinstance(node, EslWindow) and is_over(node):
            name = self._call(node).call.name
            column = exp.column(exp.to_identifier(name, quoted=True))
            start, end = span_of(node) or clause_tokens(node)[1]
            column.this.meta.update(start=start, end=end - 1)
            return column
        if isinstance(node, EslWindow):
            message = "an aggregate has a window in brackets beside one with OVER"
            hint = "give both OVER: an answer for every tuple and one for every window do not fit into one row"
            raise EslSyntaxError(message, self.text, span_of(node), clause="SELECT", hint=hint)
        if call := written_call(node, self.scope):
            if self.bare is not None and name_of_call(call.function) in self.scope.aggregates:
                return exp.column(exp.to_identifier(self._bound(call, self.bare).call.name, quoted=True))
            called = name_of_call(call.function)
            message, hint = f"{called} has no OVER, and another aggregate has one", "give it an OVER of its own"
            raise EslSyntaxError(message, self.text, span_of(node), clause="SELECT", hint=hint)
        return node

    def _call(self, node: EslWindow) -> OverCallSpec:
        call = written_call(node.this, self.scope)
        if call is None:
            raise _no_aggregate(node, self.text)
        return self._bound(call, self._clause(node))

    def _bound(self, call: WrittenCall, clause: OverClause) -> OverCallSpec:
        time = self._time(clause)
        # User-defined aggregates go tuple by tuple: a step of their own.
        user = name_of_call(call.function) in self.scope.aggregates
        window = clause.window.by_arrival() if self.scope.latent else clause.window
        group = self._group(clause, time, user, window.ranked_by == "row")
        if window.active:
            self._check_active(call, clause)
            window = window.stamped_by(time)
        bound = bind_call(call, f"__r{len(self.calls) + 1}", self.scope, self.text)
        for known in group.calls:
            if known.window == window and same_call(known.call, bound):
                return known
        self.clauses.append(clause)
        group.calls.append(OverCallSpec(bound, window))
        return group.calls[-1]

    def _check_active(self, call: WrittenCall, clause: OverClause) -> None:
        """ACTIVE EXPIRATION is for aggregates that have something to say when a tuple leaves."""
        name = name_of_call(call.function) or ""
        _, window = self.scope.aggregates.get(name, (None, None))
        if window is None or not any(returns(action) for action in window.body.expire):
            message = f"ACTIVE EXPIRATION asks what {name} returns when a tuple leaves, and it returns nothing then"
            hint = "leave it out" if name not in self.scope.aggregates else "add INSERT INTO RETURN ... to its EXPIRE"
            hint = hint if window or name not in self.scope.aggregates else f"CREATE WINDOW AGGREGATE {name} first"
            raise Refused(message, self.text, clause.span, clause="OVER", hint=hint)

    def _clause(self, node: EslWindow) -> OverClause:
        tokens, span = clause_tokens(node)
        if node.args["form"] != "OVER name":
            return over_clause(tokens, span, self.text)
        name = tokens[0].text
        if name.lower() not in self.named:
            hint = suggest(name, self.named) or f"define it: WINDOW {name} AS (...), or write OVER (...)"
            raise UnknownName(f"no window '{name}'", self.text, span, clause="OVER", hint=hint)
        return self.named[name.lower()]

    def _time(self, clause: OverClause) -> str | None:
        order, scope, named = clause.order, self.scope, None
        if order is not None:
            if not isinstance(order, exp.Column):
                raise self._not_by_time(order)
            bound, _ = bind_expression(order, scope, self.text, "OVER")
            span = span_of(order) or clause.span
            named = Name(bound.name, span)
            if not scope.bounded and named.text not in scope.times:
                raise self._not_by_time(order)
        return window_time(named, scope, self.text, clause.span, "ORDER BY ts")

    def _not_by_time(self, order: exp.Expression) -> Refused:
        hint = f"ORDER BY {self.scope.time}" if self.scope.time else "leave ORDER BY out: tuples come as they arrive"
        message = f"streams are ordered by their time stamp, not by {written(order)}"
        return Refused(message, self.text, span_of(order), clause="OVER", hint=hint)

    def _group(self, clause: OverClause, time: str | None, user: bool, by_arrival: bool) -> _Group:
        bound = [bind_expression(node, self.scope, self.text, "PARTITION BY") for node in clause.partition]
        for node, (_, type_) in zip(clause.partition, bound, strict=True):
            if to_arrow(type_) is None:
                raise TypeMismatch(
                    f"cannot partition by {written(node)}, which is {type_name(type_)}",
                    self.text,
                    span_of(node),
                    clause="PARTITION BY",
                    hint="partition by a number, a text, a date or a time; CAST can make one of it",
                )
        identity = (user, time, by_arrival, *(written(e).lower() for e, _ in bound))
        if identity not in self.groups:
            number = sum(len(group.keys) for group in self.groups.values())
            keys = tuple(Item(f"__p{number + i}", tree_of(e), t) for i, (e, t) in enumerate(bound))
            self.groups[identity] = _Group(keys, time, by_arrival)
        return self.groups[identity]


def bind_over(query: exp.Select, scope: Scope, text: str, bare: OverClause | None = None) -> Select:
    """The bound form of a SELECT with OVER, or with user-defined aggregates on a bare stream."""
    _refuse(query, scope, text, bare)
    frames = _Frames(scope, text, named_windows(query, text), bare)
    last = span_of(query.expressions[-1])  # before its calls are taken out
    nodes = [column for node in query.expressions for column in _named(node, frames, text)]
    order = query.args.get("order")
    for term in order.expressions if order else ():
        frames.without_overs(term)  # what it calls must be known before the columns are settled
    _check_alone(frames, text)
    _check_slides(frames, text)
    answers = frames.answers
    items, aliases = bind_items(nodes, answers, text, starred=scope, last=last)

    def bind_key(key: exp.Expression) -> exp.Expression:
        return bind_expression(frames.without_overs(key), answers, text, "ORDER BY", aliases)[0]

    ends = bounded_clauses(query, items, text, bind_key)
    # What waits for time passes tuples on in another order, so arrivals are counted first.
    groups = sorted(frames.groups.values(), key=lambda group: not group.by_arrival)
    times = {group.time for group in groups}
    if len(times) > 1 and not scope.bounded:
        raise Refused(
            "the frames go along different time stamps: each would wait for progress that the other does not pass on",
            text,
            span_of(query),
            clause="OVER",
            hint="use one of them for all, or compute one in a subquery in FROM that keeps its time stamp",
        )
    time = groups[0].time or scope.time
    where = query.args.get("where")
    terms = ends["order"]
    assert isinstance(terms, tuple)  # noqa: S101
    return Select(
        source=scope.source,
        items=items,
        where=tree_of(bind_predicate(where.this, scope, text, "WHERE")) if where else None,
        bounded=scope.bounded,
        time=next((i.name for i in items if time and _is_column(i.expression, time)), None),
        over_aggregates=_build_over_aggregates(
            groups, [*(i.expression for i in items), *(term.value for term in terms)], scope
        ),
        **ends,  # type: ignore[arg-type]
    )


def _named(node: exp.Expression, frames: _Frames, text: str) -> list[exp.Expression]:
    """A column of the SELECT without OVER, under the name that it has with it; several if rows have several."""
    inner = node.this if isinstance(node, exp.Alias) else node
    replaced = frames.without_overs(inner)
    if several := columns_of_rows(replaced, node, [c.call for c in frames.calls], text):
        return [exp.Alias(this=read, alias=exp.to_identifier(column.name, quoted=True)) for column, read in several]
    if isinstance(node, exp.Alias):
        return [exp.Alias(this=replaced, alias=node.args["alias"])]
    if replaced == inner:
        return [replaced]
    name = default_name(inner.this if isinstance(inner, EslWindow) else inner, text)
    return [exp.Alias(this=replaced, alias=exp.to_identifier(name, quoted=True))]


def _build_over_aggregates(
    groups: Sequence[_Group], results: Iterable[Value], scope: Scope
) -> tuple[OverAggregateSpec, ...]:
    """One step per partition; each passes on what later steps and the result need."""
    needed = set(columns_of(*results))
    # Rows of several columns are taken apart at the end: until then they are one column.
    needed |= {c.call.name for g in groups for c in g.calls if {k.name for k in c.call.columns} & needed}
    framed: list[OverAggregateSpec] = []
    for number, group in reversed(list(enumerate(groups))):
        own = {column.name for c in group.calls for column in c.call.columns} | {c.call.name for c in group.calls}
        earlier = [c.call.name for g in groups[:number] for c in g.calls]
        carried = tuple(name for name in (*scope.schema.names, *earlier) if name in needed)
        framed.append(OverAggregateSpec(group.keys, tuple(group.calls), group.time, carried))
        read = [e for c in group.calls for e in (*c.call.arguments, c.call.condition) if e is not None]
        needed = (needed - own) | columns_of(*(k.expression for k in group.keys), *read)
        needed |= {group.time} if group.time else set()
    return tuple(reversed(framed))


def _check_alone(frames: _Frames, text: str) -> None:
    """Beside an aggregate with ACTIVE EXPIRATION others would have no answer when a tuple leaves."""
    active = [c for c in frames.clauses if c.window.active]
    if active and len(frames.clauses) > 1:
        message = "with ACTIVE EXPIRATION an aggregate answers at moments of its own, when others have no answer"
        hint = "let it be the only aggregate of the SELECT, and write another query for the others"
        raise Refused(message, text, active[0].span, clause="OVER", hint=hint)


def _check_slides(frames: _Frames, text: str) -> None:
    slides = [clause.slide for clause in frames.clauses]
    if not any(slides):
        return
    hint = "write the SLIDE that all share, or several queries"
    for clause in frames.clauses:
        if clause.slide != slides[0]:
            message = "with SLIDE only some tuples answer, and these aggregates would answer at different ones"
            raise Refused(message, text, clause.span, clause="OVER", hint=hint)
    if len(frames.groups) > 1:
        message = "SLIDE counts in each partition, and these aggregates have different ones: they would answer apart"
        hint = "use one PARTITION BY, or write several queries"
        raise Refused(message, text, frames.clauses[-1].span, clause="OVER", hint=hint)


def _refuse(query: exp.Select, scope: Scope, text: str, bare: OverClause | None) -> None:
    """What has no meaning beside OVER; the groups of aggregates on bare streams have been read already."""
    if scope.clause is not None:
        message = "OVER answers for every tuple, and a window in FROM for every window"
        hint = "leave one of them out, or put one into a subquery in FROM"
        raise EslSyntaxError(message, text, scope.clause.span, clause="FROM", hint=hint)
    if emit := query.args.get("emit"):
        message = NOTHING_TO_EMIT_EARLY
        if bare is not None:
            message = "without a window every tuple has its answer at once: there is nothing to emit early"
        raise Refused(message, text, span_of(emit), clause="EMIT", hint="leave it out")
    reasons = {
        "group": ("GROUP BY", "partition the frames instead: OVER (PARTITION BY ...)"),
        "having": ("HAVING", "filter the answers outside: SELECT ... FROM (SELECT ... OVER ...) AS x WHERE ..."),
        "distinct": ("DISTINCT", "leave it out, or put the SELECT with OVER into a subquery"),
    }
    for key, (word, hint) in reasons.items() if bare is None else ():
        if (node := query.args.get(key)) is not None:
            message = f"{word} cannot stand beside OVER, which answers for every tuple"
            raise EslSyntaxError(message, text, span_of(node) or span_of(query), clause=word, hint=hint)
    read = {} if bare is None else {"group": None}
    refuse_unbounded(exp.Select(**{**query.args, **read}), scope, text)


def _no_aggregate(node: EslWindow, text: str) -> EslError:
    name = name_of_call(node.this)
    span = span_of(node)
    if name and functions.kind(name) is functions.Kind.WINDOW:
        works = ", ".join(n for n in registry.names() if "_" not in n)
        hint = f"aggregates work: {works} and others"
        if name == "row_number":
            hint = "count(*) OVER (... ROWS UNBOUNDED PRECEDING) numbers the tuples"
        message = f"{name} with OVER is part of the language, but this version cannot run it yet"
        return NotYet(message, text, span, clause="OVER", hint=hint)
    if name and functions.kind(name) is None:
        return UnknownName(f"no aggregate '{name}'", text, span, clause="OVER", hint=suggest(name, registry.names()))
    message, hint = "OVER belongs to an aggregate", "as in max(price) OVER (RANGE 5 MINUTES PRECEDING)"
    return EslSyntaxError(message, text, span, clause="OVER", hint=hint)


def _is_column(expression: Value, name: str) -> bool:
    return isinstance(expression, Column) and expression.name.lower() == name.lower()
