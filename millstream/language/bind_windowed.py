"""SELECTs with a window: keys, calls of aggregates, and what is computed from their answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from millstream.aggregates import registry
from millstream.aggregates.contract import Aggregate
from millstream.catalog.arrow import to_arrow
from millstream.catalog.definitions import AggregateCall, Item, Select, Windowed
from millstream.catalog.schema import Column, Schema, sql_type, type_name
from millstream.errors import EslSyntaxError, NotYet, Refused, TypeMismatch, UnknownName, suggest
from millstream.language import functions
from millstream.language.dialect import EslWindow
from millstream.language.expressions import bind_expression, bind_predicate
from millstream.language.scope import Scope
from millstream.language.spans import span_of
from millstream.language.type_checks import check
from millstream.language.types import infer
from millstream.language.window_clause import WindowClause, bracket_window, is_aggregate_window
from millstream.language.written import written

BOUNDS = ("window_start", "window_end")


def windows_of(query: exp.Select) -> list[EslWindow]:
    """The windows in brackets behind the aggregates of a SELECT."""
    parts = [*query.expressions, *filter(None, [query.args.get("having")])]
    return [n for p in parts for n in p.find_all(EslWindow) if is_aggregate_window(n)]


@dataclass
class _Grouping:
    """What the SELECT is made of, found while its expressions are read."""

    scope: Scope
    text: str
    keys: list[tuple[exp.Expression, Item]] = field(default_factory=list)
    calls: list[AggregateCall] = field(default_factory=list)

    @property
    def schema(self) -> Schema:
        """The columns that items and HAVING can use."""
        stamps = [Column(name, sql_type("timestamp")) for name in BOUNDS]
        return Schema([*(i.column for _, i in self.keys), *(Column(c.name, c.type) for c in self.calls), *stamps])


def bind_windowed(query: exp.Select, scope: Scope, clause: WindowClause | None, text: str) -> Select:
    """The bound form of a SELECT over a window, written in brackets or in FROM."""
    clause = _one_window(query, clause, text)
    _refuse(query, scope, text)
    time = _time(clause, scope, text)
    grouping = _Grouping(scope, text)
    _bind_keys(query, grouping)
    items = []
    for node in query.expressions:
        inner = node.this if isinstance(node, exp.Alias) else node
        if isinstance(inner, exp.Star):
            message, hint = "* cannot be used with a window", "name the keys and the aggregates"
            raise EslSyntaxError(message, text, span_of(node) or clause.span, clause="SELECT", hint=hint)
        expression = _rewrite(inner, grouping)
        name = node.alias if isinstance(node, exp.Alias) else _default_name(inner)
        items.append((name, expression, inner))
    having = query.args.get("having")
    condition = _rewrite(having.this, grouping) if having else None
    result = Scope("the window", grouping.schema, bounded=False)
    bound_items = tuple(Item(name, e, _typed(e, result, text, node)) for name, e, node in items)
    _check_names(bound_items, query, text)
    where = query.args.get("where")
    windowed = Windowed(
        keys=tuple(i for _, i in grouping.keys),
        calls=tuple(grouping.calls),
        window=clause.window,
        time=time,
        having=condition,
    )
    if having and condition is not None:
        _typed(condition, result, text, having)
    return Select(
        source=scope.source,
        items=bound_items,
        where=bind_predicate(where.this, scope, text, "WHERE") if where else None,
        bounded=False,
        windowed=windowed,
    )


def _one_window(query: exp.Select, clause: WindowClause | None, text: str) -> WindowClause:
    clauses = [*([clause] if clause else []), *(bracket_window(n, text) for n in windows_of(query))]
    for other in clauses[1:]:
        if other.window != clauses[0].window:
            raise EslSyntaxError(
                "the aggregates of a SELECT have different windows",
                text,
                other.span,
                clause="window",
                hint="use one window, or write two queries",
            )
    return clauses[0]


def _refuse(query: exp.Select, scope: Scope, text: str) -> None:
    if (node := query.args.get("distinct")) is not None:
        raise NotYet(
            "DISTINCT within a window is part of the language, but this version cannot run it yet",
            text,
            span_of(node) or span_of(query),
            clause="DISTINCT",
            hint="docs/language.md lists what works",
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
    if scope.bounded:
        raise NotYet(
            "a window over a table is part of the language, but this version cannot run it yet",
            text,
            span_of(query.args.get("from_")),
            clause="FROM",
            hint="docs/language.md lists what works",
        )


def _time(clause: WindowClause, scope: Scope, text: str) -> str:
    if scope.time is None:
        raise Refused(
            f"{scope.name} has no time stamp, and a window needs one",
            text,
            clause.span,
            clause="window",
            hint="declare the stream with ORDER BY its time-stamp column, and select that column in derived streams",
        )
    if clause.time is not None and clause.time.text.lower() != scope.time.lower():
        known = scope.schema.find(clause.time.text)
        message = (
            f"'{clause.time}' is not the time stamp of {scope.name}"
            if known
            else f"no column '{clause.time}' in {scope.name}"
        )
        raise UnknownName(
            message, text, clause.time.span, clause="window", hint=f"windows move along {scope.time}: WA {scope.time}"
        )
    return scope.time


def _bind_keys(query: exp.Select, grouping: _Grouping) -> None:
    group = query.args.get("group")
    for node in group.expressions if group else ():
        if isinstance(node, exp.Column) and node.name.lower() in BOUNDS and not grouping.scope.schema.find(node.name):
            continue  # every window has its own bounds: grouping by them changes nothing
        target = _aliased(node, query, grouping.scope)
        bound, type_ = bind_expression(target, grouping.scope, grouping.text, "GROUP BY")
        if to_arrow(type_) is None:
            raise TypeMismatch(
                f"cannot group by {written(target)}, which is {type_name(type_)}",
                grouping.text,
                span_of(node),
                clause="GROUP BY",
                hint="group by a number, a text, a date or a time; CAST can make one of it",
            )
        grouping.keys.append((bound, Item(f"__k{len(grouping.keys)}", bound, type_)))


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
    inner = node.this if isinstance(node, exp.Filter) else node
    if functions.is_aggregate(inner):
        return _call(inner, node.expression.this if isinstance(node, exp.Filter) else None, grouping)
    if isinstance(node, EslWindow | exp.Window):
        raise NotYet(
            "OVER is part of the language, but this version cannot run it yet",
            grouping.text,
            span_of(node),
            clause="window",
            hint="docs/language.md lists what works",
        )
    key = _as_key(node, grouping)
    if key is not None:
        return key
    if isinstance(node, exp.Column):
        if node.name.lower() in BOUNDS and not node.table:
            return _column(node.name.lower())
        bind_expression(node, grouping.scope, grouping.text, "SELECT")
        raise EslSyntaxError(
            f"'{node.name}' is neither grouped nor aggregated",
            grouping.text,
            span_of(node),
            clause="SELECT",
            hint=f"add it to GROUP BY, or aggregate it, as in max({node.name})",
        )
    copy = node.copy()
    for child in list(copy.iter_expressions()):
        if isinstance(child, exp.Expression) and not isinstance(child, exp.Identifier | exp.DataType):
            child.replace(_rewrite(child, grouping))
    return copy


def _as_key(node: exp.Expression, grouping: _Grouping) -> exp.Expression | None:
    if not grouping.keys or (not node.find(exp.Column) and not isinstance(node, exp.Column)):
        return None
    try:
        bound, _ = bind_expression(node, grouping.scope, grouping.text, "SELECT")
    except (EslSyntaxError, NotYet, Refused, TypeMismatch, UnknownName):
        return None
    for known, item in grouping.keys:
        if written(known).lower() == written(bound).lower():
            return _column(item.name)
    return None


def _call(node: exp.Expression, condition: exp.Expression | None, grouping: _Grouping) -> exp.Expression:
    name = functions.called(node) or ""
    arguments = [a for a in _arguments(node) if not isinstance(a, exp.Star)]
    distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    if distinct:
        arguments = list(arguments[0].expressions)
    if name == "count" and not arguments:
        name = "count_star"
    found = registry.find(name, distinct)
    if found is None:
        raise NotYet(
            f"the aggregate {name}{' DISTINCT' if distinct else ''} cannot run in a window yet",
            grouping.text,
            span_of(node),
            clause="SELECT",
            hint=suggest(name, registry.names()),
        )
    bound = [bind_expression(a, grouping.scope, grouping.text, "SELECT") for a in arguments]
    call = AggregateCall(
        name=f"__r{len(grouping.calls) + 1}",
        aggregate=_instance(found, name, node, [t for _, t in bound], grouping),
        arguments=tuple(e for e, _ in bound),
        condition=bind_predicate(condition, grouping.scope, grouping.text, "FILTER") if condition is not None else None,
        text=written(node),
    )
    same = next((c for c in grouping.calls if c.text == call.text and c.condition == call.condition), None)
    if same is None:
        grouping.calls.append(call)
    return _column((same or call).name)


def _instance(
    found: type[Aggregate], name: str, node: exp.Expression, types: list[exp.DataType], grouping: _Grouping
) -> Aggregate:
    arrows = [a for a in map(to_arrow, types) if a is not None]
    problem = ""
    if len(arrows) < len(types):
        problem = f"{name} cannot take {next(type_name(t) for t in types if to_arrow(t) is None)}"
    elif len(types) != found.arity:
        problem = f"{name} takes {found.arity} argument{'' if found.arity == 1 else 's'}, not {len(types)}"
    else:
        try:
            return found(arrows)
        except TypeError as refused:
            problem = str(refused)
    hint = "CAST the argument to a type that fits"
    raise TypeMismatch(problem, grouping.text, span_of(node), clause="SELECT", hint=hint)


def _arguments(node: exp.Expression) -> list[exp.Expression]:
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    return [a for a in (node.this, node.args.get("expression")) if isinstance(a, exp.Expression)] + list(
        node.expressions or ()
    )


def _typed(expression: exp.Expression, scope: Scope, text: str, node: exp.Expression) -> exp.DataType:
    for mistake in check(expression, scope.types):
        raise TypeMismatch(mistake.message, text, span_of(node), clause="SELECT", hint=mistake.hint)
    return infer(expression, scope.types)


def _default_name(node: exp.Expression) -> str:
    bare = node.this if isinstance(node, EslWindow) else node
    return bare.name if isinstance(bare, exp.Column) else written(bare)


def _check_names(items: tuple[Item, ...], query: exp.Select, text: str) -> None:
    seen: set[str] = set()
    for item in items:
        if item.name.lower() in seen:
            message, hint = (
                f"two columns of the result are named '{item.name}'",
                "give one of them another name with AS",
            )
            raise EslSyntaxError(message, text, span_of(query.expressions[-1]), clause="SELECT", hint=hint)
        seen.add(item.name.lower())


def _column(name: str) -> exp.Expression:
    return exp.column(exp.to_identifier(name, quoted=True))
