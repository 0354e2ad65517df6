"""Which nodes of sqlglot are calls of functions, and of which."""

from __future__ import annotations

import re

from sqlglot import exp

from millstream.language.parse.spark_dialect import SparkFaithful

# Nodes that are functions to sqlglot and operators or syntax to a reader.
_NO_CALLS = (exp.Case, exp.Cast, exp.Connector, exp.SubqueryPredicate)
_CALLS_OF_TWO = (exp.Corr, exp.CovarPop, exp.CovarSamp)
_CALL = re.compile(r"`?(\w+)`?\s*(?:\(|$)")


def name_of_call(node: exp.Expr) -> str | None:
    """The name of the function that a node calls, in lower case, or None where the node is no call.

    >>> from sqlglot import parse_one
    >>> [name_of_call(parse_one(t, dialect=SparkFaithful)) for t in ("Upper(x)", "COUNT(*)", "a + b", "CAST(x AS INT)")]
    ['upper', 'count', None, None]
    """
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    if not isinstance(node, exp.Func) or isinstance(node, _NO_CALLS):
        return None
    operator = isinstance(node, exp.Binary)
    if operator and not isinstance(node, _CALLS_OF_TWO):
        return None
    if isinstance(node, exp.If) and isinstance(node.parent, exp.Case):
        return None  # a WHEN with its THEN
    match = _CALL.match(node.sql(dialect=SparkFaithful))
    return match.group(1).lower() if match else None
