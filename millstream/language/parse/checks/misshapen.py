"""Nodes that sqlglot makes of texts that mean nothing: a part is missing, or stands where nothing takes it."""

from __future__ import annotations

from sqlglot import exp

from millstream.language.parse.call_name import name_of_call

Shape = tuple[exp.Expr, str, str]
"""The node to point at, what is wrong with it, and what to write instead."""

_PARAMETERS = (exp.Placeholder, exp.Parameter, exp.SessionParameter)
_TAKE_LAMBDAS = frozenset(
    [
        *("aggregate", "array_sort", "exists", "filter", "forall", "map_filter", "map_zip_with", "reduce"),
        *("transform", "transform_keys", "transform_values", "zip_with"),
    ]
)
_LAST_UNITS = frozenset(["MONTH", "HOUR", "MINUTE", "SECOND"])
_FIELDS = "fields of structs are named, as in box.w; items of arrays are counted, as in tags[0]"


def misshapen(node: exp.Expr, parent: exp.Expr | None) -> Shape | None:
    """What is wrong with a node whatever stands around its statement, None if nothing is."""
    match node:
        case exp.Count(this=None) if type(node) is exp.Count:
            return node, "count counts nothing here", "count(*) counts tuples, count(x) values"
        case exp.Column() if not isinstance(node.this, exp.Identifier | exp.Star):
            return node.this, "a name is missing behind the dot", _FIELDS
        case exp.Tuple() if not node.expressions and not isinstance(parent, exp.Any | exp.All):
            return node, "the parentheses are empty", "write a value between them, or leave them out"
        case exp.In() if not node.expressions and node.args.get("query") is None:
            return node, "IN has nothing to look in", "as in item_id IN (1, 2)"
        case exp.IntervalSpan() if node.text("expression").upper().removesuffix("S") not in _LAST_UNITS:
            return node, "TO has no second unit", "as in INTERVAL '1 12' DAY TO HOUR; else leave TO out"
        case exp.Dot() if isinstance(node.expression, exp.Func):
            return node, "a function has no qualifier", "write its name alone, as in round(price, 2)"
        case exp.Is() if not isinstance(node.expression, exp.Null | exp.Boolean):
            return node, "IS asks for NULL, TRUE or FALSE", "a IS NOT DISTINCT FROM b compares values, also with NULL"
        case exp.Distinct() if isinstance(parent, exp.Func) and not _is_first(node, parent):
            return node, "DISTINCT stands behind an argument", "write it first, for all arguments: f(DISTINCT a, b)"
        case exp.Lambda() if parent is None or name_of_call(parent) not in _TAKE_LAMBDAS:
            hint = f"those that do: {', '.join(sorted(_TAKE_LAMBDAS))}"
            return node, "an arrow stands here, and this function takes none", hint
    if isinstance(node, _PARAMETERS):
        return node, "parameters are not part of ESL", "write the value itself"
    return None


def _is_first(node: exp.Expr, call: exp.Func) -> bool:
    first: exp.Expr | None = next(call.iter_expressions(), None)
    return first is node
