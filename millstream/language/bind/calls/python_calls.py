"""Calls of aggregates that are classes of Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.catalog.arrow import carried
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import PythonAggregate
from millstream.catalog.schema import Schema
from millstream.catalog.select import AggregateCall
from millstream.errors import Refused
from millstream.expressions.build.bound import tree_of
from millstream.language.bind.calls.arguments import bind_arguments
from millstream.language.bind.expressions import bind_predicate
from millstream.language.bind.scope import Scope
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.spans import span_of
from millstream.language.parse.written import written
from millstream.udas.python.aggregate import PromisedAggregate, PyAggregate
from millstream.udas.python.declaration import known_class

if TYPE_CHECKING:
    from millstream.language.bind.calls.calls import WrittenCall


def python_aggregates(catalog: Catalog) -> dict[str, PythonAggregate]:
    """The aggregates in Python of a catalog, by name. One class serves every window."""
    return {d.name.lower(): d for d in catalog.all(PythonAggregate)}


def bind_python_call(
    call: WrittenCall, name: str, arguments: list[exp.Expression], distinct: bool, scope: Scope, text: str
) -> AggregateCall:
    """A call: the arguments get the types of the parameters."""
    node = call.function
    definition = scope.python[name_of_call(node) or ""]
    modifier = "DISTINCT" if distinct else "WITHIN GROUP" if call.within is not None else ""
    bound = bind_arguments(definition, node, arguments, modifier, scope, text)
    condition = call.condition
    return AggregateCall(
        name=name,
        aggregate=_instance(definition),
        arguments=bound,
        condition=tree_of(bind_predicate(condition, scope, text, "FILTER")) if condition is not None else None,
        text=written(node),
        rows=definition.result if len(definition.result) > 1 else None,
    )


def refuse_bare(query: exp.Select, scope: Scope, text: str) -> None:
    """Refuse calls without a window: the answer of a class comes at the end of its input."""
    for item in query.expressions:
        for node in item.find_all(exp.Func):
            name = name_of_call(node)
            if name in scope.python:
                raise Refused(
                    f"{name} cannot run on a bare stream: it answers only at the end of its input",
                    text,
                    span_of(node),
                    clause="SELECT",
                    hint=f"give it a window: {name}(...) [RANGE 1 MINUTE, WA ts], or OVER (RANGE 1 MINUTE PRECEDING)",
                )


def _instance(definition: PythonAggregate) -> PyAggregate | PromisedAggregate:
    """The aggregate; without the class if nobody has imported it, for binding runs no code of users."""
    outputs = tuple(zip(definition.result.names, _types(definition.result), strict=True))
    cls, arguments = known_class(definition.place), _types(definition.parameters)
    if cls is None:
        return PromisedAggregate(definition.name, arguments, outputs)
    return PyAggregate(definition.name, cls, arguments, outputs)


def _types(schema: Schema) -> list[object]:
    return [carried(column.type) for column in schema]
