"""Typed expressions to the values of bodies.

The tree comes with its types. What is no plain expression, as a column or a subquery, has become a column already,
whose value is in `slots`.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from millstream.errors import NotYet, TypeMismatch
from millstream.expressions.build.builder import Builder, Unsupported
from millstream.expressions.build.nodes import BUILDS
from millstream.expressions.elementary import elementary
from millstream.expressions.functions.registry import FUNCTIONS
from millstream.expressions.tree import Call, Value
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.spans import span_of
from millstream.language.parse.written import written
from millstream.udas.bind.types import run_type
from millstream.udas.body import Parameter, walk


def value_of(node: exp.Expr, slots: Mapping[str, Value], text: str, clause: str) -> Value:
    """The value of an expression."""
    builder = Builder(
        BUILDS, lambda column: slots[column.name.lower()], run_type, place="in the body of an aggregate", widens=False
    )
    try:
        found = builder.value(node)
        for part in walk(found):
            if isinstance(part, Call) and not _is_computed(part):
                called = builder.node_of(part) or node
                name = name_of_call(called) or part.function
                raise builder.refusal(called, f"the function {name} cannot be used {builder.place} yet")
    except Unsupported as refusal:
        kind, hint = (TypeMismatch if refusal.mistake else NotYet), refusal.hint
        if not refusal.mistake:
            hint = _way_round(refusal.node, slots) or hint or "docs/language.md lists what works"
        where = span_of(refusal.node) or _somewhere(refusal.node)
        raise kind(str(refusal), text, where, clause=clause, hint=hint) from None
    return elementary(found)


def _is_computed(call: Call) -> bool:
    function = FUNCTIONS[call.function]
    return function.python is not None or function.means is not None


def _way_round(node: exp.Expr, slots: Mapping[str, Value]) -> str:
    """What to do about a function that only Spark has, where its arguments are known before the body runs."""
    read = [slots.get(column.name.lower()) for column in node.find_all(exp.Column)]
    if name_of_call(node) is None or not all(isinstance(value, Parameter) for value in read):
        return ""
    return f"give the aggregate one more parameter, and call it with {written(node)} there"


def _somewhere(node: exp.Expr) -> tuple[int, int] | None:
    """The span of the nearest part around a node that knows its place."""
    around = node.parent
    while around is not None and span_of(around) is None:
        around = around.parent
    return span_of(around)
