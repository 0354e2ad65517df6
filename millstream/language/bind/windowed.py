"""SELECTs with a window: keys, calls of aggregates, and what is computed from their answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from millstream.catalog.arrow import to_arrow
from millstream.catalog.schema import Column, Schema, sql_type, type_name
from millstream.catalog.select import AggregateCall, Item, Select, WindowAggregateSpec
from millstream.errors import EslSyntaxError, NotYet, Refused, TypeMismatch, UnknownName
from millstream.expressions.build.bound import tree_of
from millstream.expressions.tree import Column as ColumnValue
from millstream.language.bind.bounded import bounded_clauses
from millstream.language.bind.calls.calls import WrittenCall, bind_call, same_call, written_call
from millstream.language.bind.calls.user_calls import columns_of_rows
from millstream.language.bind.expressions import bind_expression, bind_predicate, is_subquery, no_subquery
from millstream.language.bind.items import check_names
from millstream.language.bind.scope import Scope
from millstream.language.bind.window_time import window_time
from millstream.language.clauses.emit_clause import EMITTED, check_emission, emission
from millstream.language.clauses.window_clause import WindowClause, bracket_window, is_aggregate_window
from millstream.language.parse.nodes import EslWindow
from millstream.language.parse.spans import span_of
from millstream.language.parse.written import stands_for, written
from millstream.windows.contract import Window

BOUNDS = ("window_start", "window_end")


def windows_of(query: exp.Select) -> list[EslWindow]:
    """The windows in brackets behind the aggregates of a SELECT."""
    parts = [*query.expressions, *filter(None, [query.args.get("having"), query.args.get("order")])]
    return [n for p in parts for n in p.find_all(EslWindow) if is_aggregate_window(n)]


@dataclass
class _Grouping:
    """What the SELECT is made of, found while its expressions are read."""

    scope: Scope
    text: str
    emits: bool
    bounds: bool
    keys: list[tuple[exp.Expression, Item]] = field(default_factory=list)
    calls: list[AggregateCall] = field(default_factory=list)
    clause: str = "SELECT"

    @property
    def given(self) -> dict[str, str]:
        """The columns that every window has, with their types."""
        bounds = dict.fromkeys(BOUNDS, "timestamp") if self.bounds else {}
        return {**bounds, **({EMITTED: "string"} if self.emits else {})}

    @property
    def schema(self) -> Schema:
        """The columns that items and HAVING can use."""
        given = [Column(name, sql_type(type_)) for name, type_ in self.given.items()]
        return Schema(
            [*(i.column for _, i in self.keys), *(column for c in self.calls for column in c.columns), *given]
        )

    @property
    def answers(self) -> Scope:
        """What the names in items and HAVING can mean, once keys and calls have been found in them."""
        return Scope("the window", self.schema, bounded=self.scope.bounded)


def bind_windowed(query: exp.Select, scope: Scope, clause: WindowClause | None, text: str) -> Select:
    """The bound form of a SELECT over a window, written in brackets or in FROM."""
    clause = _one_window(query, clause, text)
    query = _distinct_as_groups(query, scope)
    _refuse(query, scope, text)
    time = scope.time if clause.window.whole else window_time(clause.time, scope, text, clause.span)
    if clause.ranked is not None:
        window_time(clause.ranked, scope, text, clause.span)
    window = clause.window.by_arrival() if scope.latent else clause.window
    emit = query.args.get("emit")
    if emit is not None:
        check_emission(emit, window, scope.bounded, text)
    grouping = _Grouping(scope, text, emit is not None, not clause.window.whole)
    for node in clause.partition:
        _add_key(node, node, grouping, "window")
    partition = len(grouping.keys) if window.depends_on_data else 0
    _bind_keys(query, grouping)
    last = span_of(query.expressions[-1])  # before its calls are taken out
    items = []
    for node in query.expressions:
        inner = node.this if isinstance(node, exp.Alias) else node
        if isinstance(inner, exp.Star):
            message, hint = "* cannot be used with a window", "name the keys and the aggregates"
            raise EslSyntaxError(message, text, span_of(node) or clause.span, clause="SELECT", hint=hint)
        expression = _rewrite(inner, grouping)
        if several := columns_of_rows(expression, node, grouping.calls, text):
            items += [(column.name, read, inner) for column, read in several]
            continue
        name = node.alias if isinstance(node, exp.Alias) else _default_name(inner)
        items.append((name, expression, inner))
    having = query.args.get("having")
    grouping.clause = "HAVING"
    condition = _rewrite(having.this, grouping) if having else None
    named = [(name, _bound(expression, grouping, "SELECT")) for name, expression, _ in items]
    bound_items = tuple(Item(name, tree_of(bound), type_) for name, (bound, type_) in named)
    check_names(bound_items, last, text)
    if condition is not None:
        condition = bind_predicate(condition, grouping.answers, text, "HAVING")
    grouping.clause = "ORDER BY"
    # ORDER BY may call aggregates of its own, so it comes before the calls are counted.
    ends = bounded_clauses(query, bound_items, text, lambda k: _bound(_rewrite(k, grouping), grouping, "ORDER BY")[0])
    where = query.args.get("where")
    windowed = WindowAggregateSpec(
        keys=tuple(i for _, i in grouping.keys),
        calls=tuple(grouping.calls),
        window=window,
        time=time,
        having=None if condition is None else tree_of(condition),
        partition=partition,
        emit=emission(emit, text) if emit is not None else None,
        from_first=clause.from_first,
    )
    return Select(
        source=scope.source,
        items=bound_items,
        where=tree_of(bind_predicate(where.this, scope, text, "WHERE")) if where else None,
        bounded=scope.bounded,
        time=_answer_time(bound_items, window),
        window_aggregate=windowed,
        **ends,  # type: ignore[arg-type]
    )


def _distinct_as_groups(query: exp.Select, scope: Scope) -> exp.Select:
    """DISTINCT without aggregates says the same as a GROUP BY of all columns, in each window."""
    items = [_unwindowed(node.this if isinstance(node, exp.Alias) else node) for node in query.expressions]
    nodes = (n for item in items for n in item.walk() if isinstance(n, exp.Expression))
    calls = (n for n in nodes if written_call(n, scope))
    if query.args.get("distinct") is None or query.args.get("group") or next(calls, None) is not None:
        return query
    grouped = query.copy()
    grouped.set("distinct", None)
    grouped.set("group", exp.Group(expressions=[item.copy() for item in items if not isinstance(item, exp.Star)]))
    return grouped


def _unwindowed(node: exp.Expression) -> exp.Expression:
    return node.this if is_aggregate_window(node) else node


def _answer_time(items: tuple[Item, ...], window: Window[Any]) -> str | None:
    """The item that is the time stamp of the answers: the end of their window, or its start if that never returns."""
    marks = ("window_end", *(["window_start"] if window.length is not None else []))
    bounds = {i.expression.name: i.name for i in reversed(items) if isinstance(i.expression, ColumnValue)}
    return next((bounds[mark] for mark in marks if mark in bounds), None)


def _one_window(query: exp.Select, clause: WindowClause | None, text: str) -> WindowClause:
    clauses = [*([clause] if clause else []), *(bracket_window(n, text) for n in windows_of(query))]
    for other in clauses[1:]:
        if not other.same_as(clauses[0]):
            raise EslSyntaxError(
                "the aggregates of a SELECT have different windows",
                text,
                other.span,
                clause="window",
                hint="use one window, or OVER, where each aggregate may have its own",
            )
    return next((c for c in clauses if c.time is not None), clauses[0])


def _refuse(query: exp.Select, scope: Scope, text: str) -> None:
    if scope.bounded:
        return
    if (node := query.args.get("distinct")) is not None:
        raise NotYet(
            "DISTINCT of the answers of aggregates is part of the language, but this version cannot run it yet",
            text,
            span_of(node) or span_of(query),
            clause="DISTINCT",
            hint="leave it out; without aggregates, DISTINCT gives each value once in each window",
        )
    for key, word in {"order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET"}.items():
        if (node := query.args.get(key)) is not None:
            raise Refused(
                f"{word} would block for ever: answers come as their windows close, and the stream goes on",
                text,
                span_of(node),
                clause=word,
                hint="leave it out",
            )


def _bind_keys(query: exp.Select, grouping: _Grouping) -> None:
    group = query.args.get("group")
    for node in group.expressions if group else ():
        if _is_given(node, grouping) and not grouping.scope.schema.find(node.name):
            continue  # every window has its own bounds: grouping by them changes nothing
        _add_key(_aliased(node, query, grouping.scope), node, grouping, "GROUP BY")


def _add_key(target: exp.Expression, node: exp.Expression, grouping: _Grouping, clause: str) -> None:
    """A key, unless it is there already."""
    bound, type_ = bind_expression(target, grouping.scope, grouping.text, clause)
    if to_arrow(type_) is None:
        raise TypeMismatch(
            f"cannot group by {written(target)}, which is {type_name(type_)}",
            grouping.text,
            span_of(node),
            clause=clause,
            hint="group by a number, a text, a date or a time; CAST can make one of it",
        )
    if not any(written(known).lower() == written(bound).lower() for known, _ in grouping.keys):
        grouping.keys.append((bound, Item(f"__k{len(grouping.keys)}", tree_of(bound), type_)))


def _aliased(node: exp.Expression, query: exp.Select, scope: Scope) -> exp.Expression:
    if isinstance(node, exp.Column) and not node.table and not scope.schema.find(node.name):
        for item in query.expressions:
            if isinstance(item, exp.Alias) and item.alias.lower() == node.name.lower():
                aliased: exp.Expression = item.this
                return aliased
    return node


def _rewrite(node: exp.Expression, grouping: _Grouping) -> exp.Expression:
    """The expression over the columns that the window gives."""
    if is_aggregate_window(node):
        return _rewrite(node.this, grouping)
    if call := written_call(node, grouping.scope):
        return stands_for(_call(call, grouping), node)
    key = _as_key(node, grouping)
    if key is not None:
        return key
    if is_subquery(node):
        span = span_of(node) or span_of(node.this) or span_of(node.find(exp.Column, exp.Literal) or node)
        raise no_subquery(node, grouping.text, span, grouping.clause)
    if isinstance(node, exp.Column):
        if _is_given(node, grouping):
            return stands_for(_column(node.name.lower()), node)
        if node.name.lower() == EMITTED and not node.table and not grouping.scope.schema.find(node.name):
            message, hint = f"only EMIT makes a column '{EMITTED}'", "end the SELECT with EMIT EVERY 10 SECONDS"
            raise UnknownName(message, grouping.text, span_of(node), clause=grouping.clause, hint=hint)
        bind_expression(node, grouping.scope, grouping.text, grouping.clause)
        if grouping.scope.is_parameter(node.name, node.table):  # a group is of one registration, which has one value
            _add_key(node, node, grouping, grouping.clause)
            return _as_key(node, grouping) or node
        raise EslSyntaxError(
            f"'{node.name}' is neither grouped nor aggregated",
            grouping.text,
            span_of(node),
            clause=grouping.clause,
            hint=f"add it to GROUP BY, or aggregate it, as in max({node.name})",
        )
    copy = node.copy()
    for child in list(copy.iter_expressions()):
        if isinstance(child, exp.Expression) and not isinstance(child, exp.Identifier | exp.DataType):
            child.replace(_rewrite(child, grouping))
    return copy


def _is_given(node: exp.Expression, grouping: _Grouping) -> bool:
    """Whether a name means a column that every window has; an input may stand before it that has no such column."""
    if not isinstance(node, exp.Column) or node.name.lower() not in grouping.given:
        return False
    member = grouping.scope.member(node.table) if node.table else None
    return not node.table or (member is not None and node.name.lower() not in member.columns)


def _as_key(node: exp.Expression, grouping: _Grouping) -> exp.Expression | None:
    if not grouping.keys or (not node.find(exp.Column) and not isinstance(node, exp.Column)):
        return None
    try:
        bound, _ = bind_expression(node, grouping.scope, grouping.text, "SELECT")
    except (EslSyntaxError, NotYet, Refused, TypeMismatch, UnknownName):
        return None
    for known, item in grouping.keys:
        if written(known).lower() == written(bound).lower():
            return stands_for(_column(item.name), node)
    return None


def _call(written_: WrittenCall, grouping: _Grouping) -> exp.Expression:
    call = bind_call(written_, f"__r{len(grouping.calls) + 1}", grouping.scope, grouping.text, grouped=True)
    same = next((c for c in grouping.calls if same_call(c, call)), None)
    if same is None:
        grouping.calls.append(call)
    return _column((same or call).name)


def _bound(expression: exp.Expression, grouping: _Grouping, clause: str) -> tuple[exp.Expression, exp.DataType]:
    """An expression over what the window gives, checked as any other."""
    return bind_expression(expression, grouping.answers, grouping.text, clause)


def _default_name(node: exp.Expression) -> str:
    bare = node.this if isinstance(node, EslWindow) else node
    return bare.name if isinstance(bare, exp.Column) else written(bare)


def _column(name: str) -> exp.Expression:
    return exp.column(exp.to_identifier(name, quoted=True))
