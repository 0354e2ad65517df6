"""What the binder reads of sqlglot's trees. Whatever else sqlglot has understood is refused by the word that said it.

sqlglot reads the SQL of thirty systems, and a clause of any of them becomes an argument of a node. The binder looks at
the arguments that it knows, so one that it does not know would be ignored in silence. Hence the table: the kinds of
nodes that the binder reads, the arguments that each may have, and the places that some of them are kept to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from millstream.intervals import UNITS
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.checks.misshapen import misshapen
from millstream.language.parse.checks.refused_words import NotUnderstood, hint_for
from millstream.language.parse.nodes import EslWindow
from millstream.language.parse.spans import span_of

_ENDS = ("with_", "order", "limit", "offset")
_BINARY = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.DPipe, exp.Dot),
    *(exp.And, exp.Or, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseLeftShift, exp.BitwiseRightShift),
    *(exp.Like, exp.ILike, exp.RegexpLike, exp.Escape, exp.Kwarg, exp.IntervalSpan),
)
_LEAVES = (
    *(exp.Literal, exp.Boolean, exp.Null, exp.HexString, exp.RawString, exp.National, exp.Var, exp.Identifier),
    exp.DataTypeParam,
)
_ONE = (
    *(exp.From, exp.Where, exp.Having, exp.Paren, exp.Not, exp.Neg, exp.BitwiseNot, exp.Exists, exp.Any, exp.All),
    *(exp.IgnoreNulls, exp.RespectNulls, exp.TableAlias),
)

_KNOWN: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Select: ("expressions", "distinct", "from_", "joins", "where", "group", "having", *_ENDS, "windows", "emit"),
    exp.Union: ("this", "expression", "distinct", *_ENDS),
    exp.Except: ("this", "expression", "distinct", *_ENDS),
    exp.Intersect: ("this", "expression", "distinct", *_ENDS),
    exp.Subquery: ("this", "alias", "with_"),
    exp.With: ("expressions", "recursive"),  # the binder says why not RECURSIVE
    exp.CTE: ("this", "alias"),
    exp.Table: ("this", "alias", "db", "joins"),
    exp.Join: ("this", "side", "kind", "on", "using", "method"),
    exp.Group: ("expressions",),
    exp.Order: ("expressions",),
    exp.Ordered: ("this", "desc", "nulls_first"),
    exp.Limit: ("expression",),
    exp.Offset: ("expression",),
    exp.Distinct: ("expressions",),
    exp.Alias: ("this", "alias"),
    exp.Aliases: ("this", "expressions"),
    exp.Star: ("except_", "replace", "rename"),
    exp.Column: ("this", "table", "db", "catalog"),
    EslWindow: ("this", "form", "text", "alias"),
    exp.Filter: ("this", "expression"),
    exp.WithinGroup: ("this", "expression"),
    exp.In: ("this", "expressions", "query"),
    exp.Between: ("this", "low", "high"),
    exp.Case: ("this", "ifs", "default"),
    exp.If: ("this", "true", "false"),
    exp.Cast: ("this", "to"),
    exp.TryCast: ("this", "to", "safe"),
    exp.DataType: ("this", "expressions", "nested"),
    exp.ColumnDef: ("this", "kind"),
    exp.Interval: ("this", "unit"),
    exp.Extract: ("this", "expression"),
    exp.Lambda: ("this", "expressions"),
    exp.Bracket: ("this", "expressions"),
    exp.Tuple: ("expressions",),
    exp.Anonymous: ("this", "expressions"),
    **dict.fromkeys(_BINARY, ("this", "expression")),
    **dict.fromkeys(_ONE, ("this",)),
}
ARGUMENTS = {kind: frozenset(names) for kind, names in _KNOWN.items()}
"""The arguments that each kind of node may have; leaves and functions may have all of theirs."""

Places = set[tuple[type[exp.Expr], str]]
_EXPRESSIONS_OF_SELECT: Places = {(exp.Select, "expressions")}
_INPUTS: Places = {(exp.From, "this"), (exp.Join, "this")}
PLACES: Mapping[type[exp.Expr], Places] = {
    exp.Alias: _EXPRESSIONS_OF_SELECT,
    exp.Aliases: _EXPRESSIONS_OF_SELECT,
    exp.Star: {*_EXPRESSIONS_OF_SELECT, (exp.Count, "this"), (exp.Column, "this")},
    exp.Order: {(kind, "order") for kind in (exp.Select, exp.Union, exp.Except, exp.Intersect)}
    | {(exp.WithinGroup, "expression")},
    exp.Ordered: {(exp.Order, "expressions")},
    exp.Distinct: {(exp.Select, "distinct"), (exp.Anonymous, "expressions")},
    exp.Join: {(exp.Select, "joins"), (exp.Table, "joins")},
    exp.TableAlias: {(exp.Table, "alias"), (exp.CTE, "alias"), (exp.Subquery, "alias"), (EslWindow, "alias")},
    exp.Any: {(exp.Like, "expression"), (exp.ILike, "expression")},
    exp.All: {(exp.Like, "expression"), (exp.ILike, "expression")},
}
"""Where alone some kinds of nodes may stand: elsewhere nothing reads them."""

_DISTINCT_IN = "this"  # sum(DISTINCT x), of any function that is a node of its own
_NAMED_ARGUMENTS = frozenset(["mask"])
_NAMED_FIELDS = frozenset(["struct"])
_FLAGS = frozenset(["copy", "quoted", "safe", "big_int", "typed", "negate", "is_string", "ignore_nulls", "nested"])
"""What sqlglot itself notes, which no word of the user says."""

_PLAIN = frozenset(["this", "expression", "expressions"])
_SAID_BY_NOT = frozenset(["materialized"])
"""Arguments that a word has said also where they are False."""


def check_arguments(root: exp.Expr, tokens: list[Token]) -> None:
    """Refuse a tree that has something in it which the binder does not read."""
    for node, parent, key in _nodes(root):
        if not _may_stand(node, parent, key):
            raise _misplaced(node, tokens)
        if (wrong := misshapen(node, parent)) is not None:
            at, message, hint = wrong
            around = span_of(at) or span_of(node) or span_of(parent) or (tokens[0].start, tokens[-1].end + 1)
            raise NotUnderstood(message, around, hint=hint)
        allowed = _arguments(node)
        if allowed is None:
            raise _unknown(node, type(node).__name__, tokens)
        for name, value in node.args.items():
            said = bool(value) or (value is False and name in _SAID_BY_NOT)
            if said and name not in allowed and name not in _FLAGS:
                plain = name if name not in _PLAIN else f"{type(node).__name__}.{name}"
                raise _unknown(node, plain, tokens, value)


def _nodes(root: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr | None, str]]:
    """All nodes with what they belong to, as sqlglot made them: outer ones first."""
    waiting: list[tuple[exp.Expr, exp.Expr | None, str]] = [(root, None, "")]
    while waiting:
        node, parent, key = waiting.pop()
        yield node, parent, key
        for name, value in reversed(node.args.items()):
            inside = value if isinstance(value, list) else [value]
            waiting += [(child, node, name) for child in reversed(inside) if isinstance(child, exp.Expr)]


def _arguments(node: exp.Expr) -> frozenset[str] | None:
    """The arguments that a node may have, None for a kind of node that nothing reads."""
    known = ARGUMENTS.get(type(node))
    if known is not None:
        return known
    if isinstance(node, _LEAVES) or (isinstance(node, exp.Func) and name_of_call(node) is not None):
        return frozenset(node.arg_types)
    return None


def _may_stand(node: exp.Expr, parent: exp.Expr | None, key: str) -> bool:
    if type(node) is exp.Subquery and node.args.get("alias"):
        return (type(parent), key) in _INPUTS
    if type(node) is exp.Star and type(parent) is exp.Count:
        return not any(node.args.values())
    if type(node) is exp.Star and type(parent) is exp.Column:
        return isinstance(parent.parent, exp.Select)
    if type(node) is exp.Distinct and isinstance(parent, exp.Func) and key == _DISTINCT_IN:
        return True
    if isinstance(node, exp.Alias) and parent is not None and name_of_call(parent) in _NAMED_FIELDS:
        return True
    if type(node) is exp.Kwarg:
        return parent is not None and name_of_call(parent) in _NAMED_ARGUMENTS
    places = PLACES.get(type(node))
    return places is None or (type(parent), key) in places


def _misplaced(node: exp.Expr, tokens: list[Token]) -> NotUnderstood:
    """The error for a node in a place where nothing reads it; for a name, it points at the name."""
    if isinstance(node, exp.Alias | exp.Subquery):
        name = node.args["alias"]
        word = node.alias
        span = span_of(name) or (tokens[0].start, tokens[-1].end + 1)
        unit = word.upper().removesuffix("S") in UNITS
        hint = f"a length of time is written INTERVAL '10' {word.upper()}" if unit else hint_for("ALIAS")
        return NotUnderstood(f"'{word}' is not understood here", span, hint=hint)
    return _unknown(node, type(node).__name__, tokens)


def _unknown(node: exp.Expr, name: str, tokens: list[Token], value: Any = None) -> NotUnderstood:
    """The error for an argument that nothing reads: it names the word that has said it, if that can be found."""
    inside = value[0] if isinstance(value, list) else value
    span = span_of(inside) if isinstance(inside, exp.Expr) else None
    around = span_of(node)
    return NotUnderstood.of(name, tokens, span or around, after=around[0] if around else 0)
