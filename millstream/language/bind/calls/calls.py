"""Calls of aggregates: which algebra computes them, and what it reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow.types as pt
from sqlglot import exp

from millstream.aggregates import registry
from millstream.aggregates.choice import Choice
from millstream.aggregates.contract import Aggregate
from millstream.aggregates.first import First
from millstream.aggregates.last import Last
from millstream.aggregates.string_agg import StringAgg
from millstream.aggregates.tally_with_constant import TallyWithConstant
from millstream.catalog.arrow import to_arrow
from millstream.catalog.schema import type_name
from millstream.catalog.select import AggregateCall
from millstream.errors import EslSyntaxError, NotYet, TypeMismatch, UnknownName, suggest
from millstream.expressions.build.bound import tree_of
from millstream.language.bind.calls.arguments import bind_arguments
from millstream.language.bind.calls.python_calls import bind_python_call
from millstream.language.bind.expressions import bind_expression, bind_predicate
from millstream.language.bind.scope import NOTHING, Scope
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.spans import span_of
from millstream.language.parse.written import written
from millstream.language.types import functions
from millstream.udas.choose_form import grouped_aggregate, sql_aggregate
from millstream.udas.sql_aggregate import Versions


@dataclass(frozen=True)
class WrittenCall:
    """A call as it was written: the function, its FILTER, and its WITHIN GROUP."""

    function: exp.Expression
    condition: exp.Expression | None = None
    within: exp.Order | None = None
    respects_nulls: bool = False
    ignores_nulls: bool = False


def written_call(node: exp.Expression, scope: Scope = NOTHING) -> WrittenCall | None:
    """The call of an aggregate that a node is, built in or of a user whom the scope knows, None if it is none."""
    match node:
        case exp.Filter():
            call = written_call(node.this, scope)
            return call and replace(call, condition=node.expression.this)
        case exp.WithinGroup():
            call = written_call(node.this, scope)
            return call and replace(call, within=node.expression)
        case exp.IgnoreNulls() | exp.RespectNulls():
            call = written_call(node.this, scope)
            respects = isinstance(node, exp.RespectNulls)
            return call and replace(call, respects_nulls=respects, ignores_nulls=not respects)
    users = name_of_call(node) in scope.aggregates or name_of_call(node) in scope.python
    known = functions.is_aggregate(node) or users
    return WrittenCall(node) if known else None


def bind_call(call: WrittenCall, name: str, scope: Scope, text: str, *, grouped: bool = False) -> AggregateCall:
    """The aggregate that computes a call; its answer will be the column `name`. A `grouped` window answers as one."""
    node = call.function
    function = name_of_call(node) or ""
    arguments = _arguments(node)
    call, arguments = without_nulls(call, arguments)
    if call.respects_nulls and registry.find(function) not in (First, Last):
        hint = "leave RESPECT NULLS out: but for first and last, aggregates do not look at NULL"
        raise NotYet("RESPECT NULLS cannot run yet", text, span_of(node), clause="SELECT", hint=hint)
    distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    if distinct:
        arguments = list(arguments[0].expressions)
    if function in scope.aggregates:
        return bind_user_call(call, name, arguments, distinct, scope, text, grouped)
    if function in scope.python:
        return bind_python_call(call, name, arguments, distinct, scope, text)
    if function == "count" and not arguments:
        function = "count_star"
    found = registry.find(function, distinct)
    if found is None:
        raise NotYet(
            f"the aggregate {function}{' DISTINCT' if distinct else ''} cannot run in a window yet",
            text,
            span_of(node),
            clause="SELECT",
            hint=suggest(function, sorted(registry.DISTINCT) if distinct else registry.names()),
        )
    if call.within is not None:
        arguments = _within_group(call.within, arguments, function, found, node, text)
    constant: Any = None
    if issubclass(found, TallyWithConstant) and found.arity == 2 and len(arguments) == 2:
        constant = _constant(arguments.pop(), function, text)
    bound = [bind_expression(a, scope, text, "SELECT") for a in arguments]
    problem, instance = _instance(found, function, [t for _, t in bound], constant)
    if instance is None:
        hint = _EXAMPLES.get(found.name, "CAST the argument to a type that fits")
        raise TypeMismatch(problem, text, span_of(node), clause="SELECT", hint=hint)
    condition = call.condition
    return AggregateCall(
        name=name,
        aggregate=instance,
        arguments=tuple(tree_of(e) for e, _ in bound),
        condition=tree_of(bind_predicate(condition, scope, text, "FILTER")) if condition is not None else None,
        text=written(exp.WithinGroup(this=node.copy(), expression=call.within.copy()) if call.within else node),
    )


def without_nulls(call: WrittenCall, arguments: list[exp.Expression]) -> tuple[WrittenCall, list[exp.Expression]]:
    """A call whose NULLs are said to be ignored or not, as one with a FILTER for that, and its arguments alone."""
    within = [type(a) for a in arguments]
    respects = call.respects_nulls or exp.RespectNulls in within
    ignores = call.ignores_nulls or exp.IgnoreNulls in within
    arguments = [a.this if isinstance(a, exp.IgnoreNulls | exp.RespectNulls) else a for a in arguments]
    condition = call.condition
    kind = registry.find(name_of_call(call.function) or "")
    # The others do not look at NULL.
    if ignores and arguments and kind is not None and issubclass(kind, Choice):
        value = arguments[0].copy()
        value = value if isinstance(value, exp.Column) else exp.Paren(this=value)
        given = exp.Not(this=exp.Is(this=value, expression=exp.Null()))
        condition = given if condition is None else exp.And(this=exp.Paren(this=condition.copy()), expression=given)
    return replace(call, condition=condition, respects_nulls=respects), arguments


def bind_user_call(
    call: WrittenCall,
    name: str,
    arguments: list[exp.Expression],
    distinct: bool,
    scope: Scope,
    text: str,
    grouped: bool,
) -> AggregateCall:
    """A call of a user-defined aggregate: the arguments get the types of its parameters."""
    node = call.function
    base, window = scope.aggregates[name_of_call(node) or ""]
    definition = base or window
    assert definition is not None  # noqa: S101
    modifier = "DISTINCT" if distinct else "WITHIN GROUP" if call.within is not None else ""
    bound = bind_arguments(definition, node, arguments, modifier, scope, text)
    read = {t.name for version in (base, window) if version for t in version.body.reads}
    if missing := sorted(read - set(scope.tables)):
        message, hint = f"{definition.name} reads the table {missing[0]}, which is gone", "CREATE TABLE it again"
        raise UnknownName(message, text, span_of(node), clause="SELECT", hint=hint)
    versions = Versions(base.body if base else None, window.body if window else None)
    condition = call.condition
    return AggregateCall(
        name=name,
        aggregate=grouped_aggregate(versions) if grouped else sql_aggregate(versions),
        arguments=bound,
        condition=tree_of(bind_predicate(condition, scope, text, "FILTER")) if condition is not None else None,
        text=written(node),
        rows=definition.result,
        reads=tuple(scope.tables[name] for name in sorted(read)),
    )


_EXAMPLES = {"quantile": "as in quantile(price, 0.9)", "string_agg": "as in string_agg(name, ', ')"}


def same_call(one: AggregateCall, other: AggregateCall) -> bool:
    """Whether two calls have the same answers."""
    return one.text == other.text and one.condition == other.condition


def _instance(
    found: type[Aggregate], name: str, types: list[exp.DataType], constant: Any
) -> tuple[str, Aggregate | None]:
    """The aggregate for these types, or what is wrong with them."""
    arrows = [a for a in map(to_arrow, types) if a is not None]
    if len(arrows) < len(types):
        return f"{name} cannot take {next(type_name(t) for t in types if to_arrow(t) is None)}", None
    given = len(types) + (constant is not None)
    enough = given == found.arity or (found is StringAgg and given == 1)
    if not enough:
        return f"{name} takes {found.arity} argument{'' if found.arity == 1 else 's'}, not {given}", None
    try:
        plain = found(arrows)
        if constant is None or not isinstance(plain, TallyWithConstant):
            return "", plain
        if pt.is_floating(plain.steering) and isinstance(constant, str):
            return f"the second argument of {name} must be a number, not '{constant}'", None
        return "", type(plain)(arrows, constant)
    except (TypeError, ValueError) as refused:
        return str(refused), None


def _constant(node: exp.Expression, function: str, text: str) -> str | float:
    """The value of a literal: such an aggregate is made for one value of its second argument."""
    sign, bare = 1, node
    while isinstance(bare, exp.Neg | exp.Paren | exp.Cast):
        sign, bare = (-sign if isinstance(bare, exp.Neg) else sign), bare.this
    if not isinstance(bare, exp.Literal):
        raise EslSyntaxError(
            f"the second argument of {function} must be a constant",
            text,
            span_of(node),
            clause="SELECT",
            hint="write a number or a text, not an expression",
        )
    if bare.is_string:
        return str(bare.this)
    return sign * (int(bare.this) if bare.this.isdigit() else float(bare.this))


def _within_group(
    order: exp.Order,
    arguments: list[exp.Expression],
    function: str,
    found: type[Aggregate],
    node: exp.Expression,
    text: str,
) -> list[exp.Expression]:
    """The arguments of `percentile_cont(p) WITHIN GROUP (ORDER BY x)`, as those of quantile(x, p)."""
    terms = order.expressions
    if found is StringAgg or len(terms) != 1 or len(arguments) != found.arity - 1:
        raise NotYet(
            f"WITHIN GROUP with {function} is part of the language, but this version cannot run it yet",
            text,
            span_of(order) or span_of(node),
            clause="WITHIN GROUP",
            hint="percentile_cont(0.9) WITHIN GROUP (ORDER BY x) works; string_agg goes by time stamp",
        )
    fractions = list(arguments)
    if terms[0].args.get("desc") and fractions:
        fraction = _constant(fractions[0], function, text)
        if not isinstance(fraction, str):
            fractions = [exp.Literal.number(round(1 - fraction, 12))]
    return [terms[0].this, *fractions]


def _arguments(node: exp.Expression) -> list[exp.Expression]:
    """All arguments of a call, in whatever part of its node sqlglot keeps them; * of count(*) is none."""
    given = node.expressions if isinstance(node, exp.Anonymous) else node.iter_expressions()
    return [a for a in given if not isinstance(a, exp.Star)]
