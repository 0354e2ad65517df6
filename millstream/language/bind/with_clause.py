"""WITH: the subqueries that have names."""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import EslSyntaxError, NameTaken, Refused
from millstream.language.bind.from_clause import Ctes
from millstream.language.parse.nodes import EslWindow
from millstream.language.parse.spans import span_of


def with_clause(query: exp.Query, outer: Ctes, text: str) -> Ctes:
    """The subqueries that a query can read by their names: its own, and those around it."""
    with_ = query.args.get("with_")
    if with_ is None:
        return outer
    if with_.recursive:
        raise Refused(
            "WITH RECURSIVE has no end on a stream",
            text,
            span_of(with_),
            clause="WITH",
            hint="leave RECURSIVE out if the query does not refer to itself",
        )
    own: dict[str, exp.Query] = {}
    for cte in with_.expressions:
        name = cte.alias.lower()
        if name in own:
            message, hint = f"two subqueries are named '{cte.alias}'", "rename one"
            raise NameTaken(message, text, span_of(cte.args["alias"]), clause="WITH", hint=hint)
        if name not in _read(query, cte):
            message, hint = f"nothing reads the subquery '{cte.alias}'", "leave it out, or read it in FROM"
            raise EslSyntaxError(message, text, span_of(cte.args["alias"]), clause="WITH", hint=hint)
        own[name] = cte.this
    return {**outer, **own}


def _read(query: exp.Query, cte: exp.CTE) -> set[str]:
    """The names of what is read outside of a subquery: in FROM, and as the input of a function that makes windows."""
    names = set()
    for node in query.walk(prune=lambda n: n is cte):
        if isinstance(node, exp.Table) and not node.db:
            names.add(node.name.lower())
        elif isinstance(node, EslWindow):
            names |= {token.text.lower() for token in node.meta["tokens"]}
    return names
