"""Calls of aggregates that are classes of Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.aggregates.user.python_aggregate import PyAggregate
from millstream.aggregates.user.python_class import find_class
from millstream.catalog.arrow import carried
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import AggregateCall, PythonAggregate
from millstream.catalog.schema import Schema, type_name
from millstream.errors import EslSyntaxError, Refused, TypeMismatch
from millstream.language import functions
from millstream.language.expressions import bind_expression, bind_predicate
from millstream.language.scope import Scope
from millstream.language.spans import span_of
from millstream.language.written import written

if TYPE_CHECKING:
    from millstream.language.bind_calls import WrittenCall


def python_aggregates(catalog: Catalog) -> dict[str, PythonAggregate]:
    """The aggregates in Python of a catalog, by name. One class serves every window."""
    return {d.name.lower(): d for d in catalog.all(PythonAggregate)}


def bind_python_call(
    call: WrittenCall, name: str, arguments: list[exp.Expression], distinct: bool, scope: Scope, text: str
) -> AggregateCall:
    """A call: the arguments get the types of the parameters."""
    node = call.function
    definition = scope.python[functions.called(node) or ""]
    wanted = definition.parameters
    if distinct or call.within is not None:
        message = f"{definition.name} takes no {'DISTINCT' if distinct else 'WITHIN GROUP'}"
        hint = "that is for aggregates that are built in"
        raise EslSyntaxError(message, text, span_of(node), clause="SELECT", hint=hint)
    if len(arguments) != len(wanted):
        takes = f"{len(wanted)} argument{'' if len(wanted) == 1 else 's'}"
        hint = f"{definition.name}({', '.join(f'{c.name} {type_name(c.type)}' for c in wanted)})"
        message = f"{definition.name} takes {takes}, not {len(arguments)}"
        raise TypeMismatch(message, text, span_of(node), clause="SELECT", hint=hint)
    bound = [bind_expression(a, scope, text, "SELECT")[0] for a in arguments]
    condition = call.condition
    return AggregateCall(
        name=name,
        aggregate=_instance(definition),
        arguments=tuple(exp.Cast(this=e, to=column.type.copy()) for e, column in zip(bound, wanted, strict=True)),
        condition=bind_predicate(condition, scope, text, "FILTER") if condition is not None else None,
        text=written(node),
        rows=definition.result if len(definition.result) > 1 else None,
    )


def refuse_bare(query: exp.Select, scope: Scope, text: str) -> None:
    """Refuse calls without a window: the answer of a class comes at the end of its input."""
    for item in query.expressions:
        for node in item.find_all(exp.Func):
            name = functions.called(node)
            if name in scope.python:
                raise Refused(
                    f"{name} cannot run on a bare stream: it answers only at the end of its input",
                    text,
                    span_of(node),
                    clause="SELECT",
                    hint=f"give it a window: {name}(...) [RANGE 1 MINUTE, WA ts], or OVER (RANGE 1 MINUTE PRECEDING)",
                )


def _instance(definition: PythonAggregate) -> PyAggregate:
    outputs = tuple(zip(definition.result.names, _types(definition.result), strict=True))
    return PyAggregate(definition.name, find_class(definition.place), _types(definition.parameters), outputs)


def _types(schema: Schema) -> list[object]:
    return [carried(column.type) for column in schema]
