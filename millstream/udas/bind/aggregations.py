"""Aggregates inside bodies, over local tables: built-in ones, and those that users have defined before."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millstream.aggregates import registry
from millstream.aggregates.first import First
from millstream.aggregates.last import Last
from millstream.catalog.definitions import PythonAggregate
from millstream.catalog.schema import Schema, SqlType, type_name
from millstream.errors import EslSyntaxError, NotYet, TypeMismatch, UnknownName, suggest
from millstream.expressions.build.casts import cast
from millstream.expressions.elementary import elementary
from millstream.expressions.tree import FLOAT64, INT64, NULL, Literal, Value
from millstream.language.bind.calls.arguments import fits
from millstream.language.bind.calls.calls import WrittenCall, _arguments, without_nulls, written_call
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.spans import span_of
from millstream.language.types import coercion as c
from millstream.language.types.checks import check
from millstream.udas import body as b
from millstream.udas.bind import functions as body_functions
from millstream.udas.bind.expressions import Expressions, user_aggregate
from millstream.udas.bind.scope import Scope, Typed
from millstream.udas.bind.types import run_type

_AS_FLOAT = frozenset(["var_pop", "var_samp", "stddev_pop", "stddev_samp", "median"])
_ARITY = {"min_by": 2, "max_by": 2, "string_agg": 2}


def bind_aggregation(
    node: exp.Expression, column: str | None, scope: Scope, values: Expressions
) -> tuple[b.Aggregation, SqlType]:
    """A call of an aggregate; `column` is the one wanted of a user-defined one with several."""
    call = _written(node)
    function = call.function
    name = name_of_call(function) or ""
    arguments = _arguments(function)
    distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    if distinct:
        arguments = list(arguments[0].expressions)
    call, arguments = without_nulls(call, arguments)
    if call.within is not None or (call.respects_nulls and registry.find(name) not in (First, Last)):
        raise NotYet(
            "WITHIN GROUP and RESPECT NULLS cannot run in a body yet",
            scope.aggregate.text,
            span_of(node),
            clause="SELECT",
            hint="leave them out",
        )
    condition = values.condition(call.condition, scope, "FILTER") if call.condition is not None else None
    own = name == scope.aggregate.name.lower() and not scope.aggregate.window
    if own or user_aggregate(name, scope) is not None:
        bound = [values.bind(a, scope, "SELECT") for a in arguments]
        return _user_defined(name, own, column, bound, distinct, condition, node, scope)
    return _built_in(name, arguments, distinct, condition, node, scope, values)


def _written(node: exp.Expression) -> WrittenCall:
    """The call, also of a user-defined aggregate, which the list of functions does not know."""
    match node:
        case exp.Filter():
            inner = _written(node.this)
            return replace(inner, condition=node.expression.this)
        case exp.IgnoreNulls():
            return replace(_written(node.this), ignores_nulls=True)
    return written_call(node) or WrittenCall(node)


def _user_defined(
    name: str,
    own: bool,
    column: str | None,
    arguments: list[Typed],
    distinct: bool,
    condition: Value | None,
    node: exp.Expression,
    scope: Scope,
) -> tuple[b.Aggregation, SqlType]:
    text, span = scope.aggregate.text, span_of(node)
    found = None if own else user_aggregate(name, scope)
    if isinstance(found, PythonAggregate):
        message, hint = f"{name} is written in Python, and cannot run in a body yet", "call it in a SELECT"
        raise NotYet(message, text, span, clause="SELECT", hint=hint)
    parameters = scope.aggregate.parameters if found is None else found.parameters
    result = scope.aggregate.result if found is None else found.result
    if found is not None:
        for read in found.body.reads:
            scope.aggregate.reads[read.name] = read
    if len(arguments) != len(parameters):
        raise TypeMismatch(
            f"{name} takes {len(parameters)} argument{'' if len(parameters) == 1 else 's'}, not {len(arguments)}",
            text,
            span,
            clause="SELECT",
            hint=f"its parameters are ({parameters})",
        )
    fitted = []
    for (value, type_), parameter in zip(arguments, parameters, strict=True):
        what = f"the parameter {parameter.name} of {name}"
        if not fits(type_, parameter.type) and not isinstance(value, Literal):
            raise unfit(type_, parameter.type, what, node, scope, "SELECT")
        fitted.append(fit(value, type_, parameter.type, what, node, scope, "SELECT"))
    index = _column(result, column, name, node, scope)
    aggregation = b.Aggregation(
        function=name,
        arguments=tuple(fitted),
        type=run_type(result[index].type) or NULL,
        distinct=distinct,
        condition=condition,
        body=None if found is None else found.body,
        itself=own,
        result=index,
    )
    return aggregation, result[index].type


def _column(result: Schema, wanted: str | None, name: str, node: exp.Expression, scope: Scope) -> int:
    if wanted is None:
        if len(result) > 1:
            raise EslSyntaxError(
                f"{name} gives {len(result)} columns",
                scope.aggregate.text,
                span_of(node),
                clause="SELECT",
                hint=f"take one of them, as in {name}(...).{result[0].name}",
            )
        return 0
    for index, column in enumerate(result):
        if column.name.lower() == wanted.lower():
            return index
    raise UnknownName(
        f"no column '{wanted}' in the result of {name}",
        scope.aggregate.text,
        span_of(node),
        clause="SELECT",
        hint=suggest(wanted, result.names),
    )


def _built_in(
    name: str,
    nodes: list[exp.Expression],
    distinct: bool,
    condition: Value | None,
    node: exp.Expression,
    scope: Scope,
    values: Expressions,
) -> tuple[b.Aggregation, SqlType]:
    text, span = scope.aggregate.text, span_of(node)
    known = registry.ALIASES.get(name, name)
    if known == "any_value":
        known = "first"
    function = body_functions.AGGREGATES.get(known)
    if function is None:
        raise NotYet(
            f"the aggregate {name} cannot run in a body yet",
            text,
            span,
            clause="SELECT",
            hint=suggest(name, sorted(body_functions.AGGREGATES)),
        )
    options: tuple[int | str, ...] = ()
    if function == "string_agg":
        separator = nodes.pop() if len(nodes) == 2 else exp.Literal.string("")
        if not isinstance(separator, exp.Literal):
            hint = "as in string_agg(name, ', ')"
            raise EslSyntaxError("the separator must be a text", text, span, clause="SELECT", hint=hint)
        options = (str(separator.this),)
    bound = [values.bind(n, scope, "SELECT") for n in nodes]
    if function == "count" and not bound:
        return b.Aggregation("count_star", (), INT64, distinct, condition), c.BIGINT
    arity = 1 if function not in _ARITY or options else _ARITY[function]
    if function != "count" and len(bound) != arity:
        hint = f"as in {name}({', '.join('xyz'[:arity])})"
        message = f"{name} takes {arity} argument{'' if arity == 1 else 's'}, not {len(bound)}"
        raise TypeMismatch(message, text, span, clause="SELECT", hint=hint)
    type_ = _type(known, [t for _, t in bound], node, scope)
    to = run_type(type_)
    if to is None:
        message = f"{name} of {type_name(bound[0][1])} cannot run in a body yet"
        raise NotYet(message, text, span, clause="SELECT", hint="CAST the argument to DOUBLE")
    arguments = [v for v, _ in bound]
    if function in _AS_FLOAT:
        arguments = [_as_float(v, node, scope) for v in arguments]
    if function == "string_agg":
        arguments = [fit(arguments[0], bound[0][1], c.STRING, "the text", node, scope, "SELECT")]
    if function in {"sum", "avg"}:
        function = f"{function}_{to.name if to.name in {'int64', 'decimal'} else 'float64'}"
        options = (to.precision, to.scale) if to.name == "decimal" else ()
        if to.is_float:
            arguments = [_as_float(v, node, scope) for v in arguments]
    return b.Aggregation(function, tuple(arguments), to, distinct, condition, options=options), type_


def _type(name: str, types: list[SqlType], node: exp.Expression, scope: Scope) -> SqlType:
    """What a built-in aggregate answers; its mistakes of type are told."""
    if name == "string_agg":
        return c.STRING
    names = {f"x{index}": t for index, t in enumerate(types)}
    call = exp.Anonymous(this=name, expressions=[exp.column(n) for n in names])
    for mistake in check(call, names):
        raise TypeMismatch(
            mistake.message.replace("x0", "its argument"),
            scope.aggregate.text,
            span_of(node),
            clause="SELECT",
            hint=mistake.hint.replace("x0", "x"),
        )
    return call.type if isinstance(call.type, exp.DataType) else c.NULL


def _as_float(value: Value, node: exp.Expression, scope: Scope) -> Value:
    found = cast(value, FLOAT64, widens=False)
    if found is None:
        message, hint = "this aggregate needs numbers", "CAST the argument to DOUBLE"
        raise TypeMismatch(message, scope.aggregate.text, span_of(node), clause="SELECT", hint=hint)
    return elementary(found)


def fit(value: Value, type_: SqlType, to: SqlType, what: str, node: exp.Expr, scope: Scope, clause: str) -> Value:
    """A value put into a column or a parameter: numbers fit numbers, texts fit texts, NULL fits all."""
    target = run_type(to)
    alike = (
        (c.is_numeric(type_) and c.is_numeric(to))
        or (c.is_string(type_) and c.is_string(c.spelt(to)))
        or (c.is_date(type_) and c.is_timestamp(c.spelt(to)))
        or type_name(c.spelt(type_)) == type_name(c.spelt(to))
        or (value.type == target)
    )
    written_time = c.is_string(type_) and isinstance(value, Literal) and (c.is_date(to) or c.is_timestamp(c.spelt(to)))
    found = (
        cast(value, target, widens=False)
        if target is not None and (alike or written_time or value.type.name == "null")
        else None
    )
    found = None if found is None else elementary(found)
    if found is None or (isinstance(value, Literal) and value.value is not None and _is_lost(found)):
        raise unfit(type_, to, what, node, scope, clause)
    return found


def _is_lost(value: Value) -> bool:
    return isinstance(value, Literal) and value.value is None


def unfit(type_: SqlType, to: SqlType, what: str, node: exp.Expr, scope: Scope, clause: str) -> TypeMismatch:
    """The mistake of a value that does not fit."""
    return TypeMismatch(
        f"{what} is {type_name(to)}, and the value is {type_name(type_)}",
        scope.aggregate.text,
        span_of(node),
        clause=clause,
        hint=f"write CAST(... AS {type_name(to)}), or change the type of {what}",
    )
