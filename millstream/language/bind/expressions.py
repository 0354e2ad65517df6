"""Scalar expressions bound to a scope: names resolved, functions known, types checked."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from millstream.catalog.schema import SqlType, type_name
from millstream.errors import EslSyntaxError, NotYet, Refused, TypeMismatch, UnknownName, suggest
from millstream.language.bind.scope import Scope
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.checks.tokens import OWN
from millstream.language.parse.nodes import EslWindow
from millstream.language.parse.spans import span_of
from millstream.language.parse.statements import Span
from millstream.language.types import functions
from millstream.language.types.checks import check, check_condition
from millstream.language.types.infer import infer
from millstream.language.types.mistake import Mistake

_OF_ONE_ROW = ("VALUES", "SET", "REGISTER", "INVOKE")
"""Clauses with values that are computed of one row, or of none."""

Aliases = Mapping[str, exp.Expression]

WINDOW_HINT = (
    "give it a window, as in count(*) [RANGE 1 MINUTE, SLIDE 1 MINUTE, WA ts] or OVER (RANGE 5 MINUTES PRECEDING)"
)


def bind_expression(
    node: exp.Expression,
    scope: Scope,
    text: str,
    clause: str,
    aliases: Aliases | None = None,
    makes_rows: bool = False,
) -> tuple[exp.Expression, SqlType]:
    """The expression with every column resolved, and its type.

    A name that is no column may be the alias of an item further left in the same SELECT; it then stands for it.
    `makes_rows`: whether it may be a call as of explode, which gives rows and no value.
    """
    _check_constructs(node, scope, text, clause)
    if not makes_rows:
        _check_makes_no_rows(node, text, clause)
    bound = node.copy().transform(_resolve, scope, text, clause, aliases or {}, copy=False)
    _raise_first(check(bound, scope.types), node, text, clause)
    return bound, infer(bound, scope.types)


def bind_predicate(node: exp.Expression, scope: Scope, text: str, clause: str) -> exp.Expression:
    """The condition with every column resolved; it must be true or false."""
    bound, _ = bind_expression(node, scope, text, clause)
    _raise_first(check_condition(bound, scope.types, clause), node, text, clause)
    return bound


def _raise_first(mistakes: list[Mistake], node: exp.Expression, text: str, clause: str) -> None:
    for mistake in mistakes:
        span = span_of(mistake.node) or span_of(node) or _clause(text, clause)
        raise TypeMismatch(mistake.message, text, span, clause=clause, hint=mistake.hint)


def _clause(text: str, clause: str) -> Span | None:
    """Where a clause begins: NULL and types do not remember their place."""
    at = text.upper().find(clause)
    return (at, at + len(clause)) if clause and at >= 0 else None


def _resolve(node: exp.Expression, scope: Scope, text: str, clause: str, aliases: Aliases) -> exp.Expression:
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return node
    parts = [p for p in node.parts if isinstance(p, exp.Identifier)]
    member = scope.member(parts[0].name) if len(parts) > 1 else None
    qualified = member is not None
    head, *fields = parts[1:] if qualified else parts
    column = scope.dotted(f"{member.name}.{head.name}") if member else scope.find(head.name)
    if column is None:
        alias = aliases.get(head.name.lower())
        if alias is not None and not qualified and not fields:
            return exp.Paren(this=alias.copy())
        raise _unknown_column(head, parts, scope, text, clause)
    bound: exp.Expression = exp.column(exp.to_identifier(column.name, quoted=True))
    bound.this.meta.update(head.meta)
    type_: SqlType | None = column.type
    for field in fields:
        type_ = _field_type(field, type_, column.name, text, clause)
        bound = exp.Dot(this=bound, expression=field)
    return bound


def _field_type(field: exp.Identifier, type_: SqlType | None, column: str, text: str, clause: str) -> SqlType | None:
    """The type of a field of a struct; None where only Spark can tell, as inside maps and arrays."""
    if type_ is None or not type_.is_type("struct"):
        if type_ is None or type_.is_type("map", "array", "unknown", "variant", "object"):
            return None
        raise UnknownName(
            f"'{column}' is {type_name(type_)} and has no fields",
            text,
            span_of(field),
            clause=clause,
            hint=f"write {column}",
        )
    for known in type_.expressions:
        if known.name.lower() == field.name.lower():
            kind = known.args.get("kind")
            return kind if isinstance(kind, exp.DataType) else None
    names = [known.name for known in type_.expressions]
    raise UnknownName(
        f"no field '{field.name}' in {column}", text, span_of(field), clause=clause, hint=suggest(field.name, names)
    )


def _unknown_column(
    head: exp.Identifier, parts: list[exp.Identifier], scope: Scope, text: str, clause: str
) -> UnknownName:
    span = span_of(head)
    name = head.name
    if not scope.name:
        hint = "write a value" if clause in _OF_ONE_ROW else "add FROM a stream"
        return UnknownName(f"no column '{name}': there is no FROM", text, span, clause=clause, hint=hint)
    if len(parts) > 1 and head is parts[0]:
        message = f"'{name}' is neither a stream of this FROM nor a column of {scope.name}"
        return UnknownName(message, text, span, clause=clause, hint=suggest(name, (scope.name, *scope.schema.names)))
    if homes := scope.homes(name) if len(parts) == 1 else ():
        message = f"'{name}' could be a column of {' or '.join(m.name for m in homes)}"
        return UnknownName(message, text, span, clause=clause, hint=f"write {homes[0].name}.{name}")
    hint = suggest(name, [name for name in scope.schema.names if not name.startswith(OWN)])
    if span and text[span[0] : span[0] + 1] == '"':
        hint = f"text is written in single quotes: '{name}'"
    return UnknownName(f"no column '{name}' in {scope.name}", text, span, clause=clause, hint=hint)


def _check_makes_no_rows(node: exp.Expression, text: str, clause: str) -> None:
    for part in node.walk():
        name = name_of_call(part)
        if name is not None and functions.kind(name) is functions.Kind.GENERATOR:
            raise EslSyntaxError(
                f"{name} makes rows, and here stands a value",
                text,
                span_of(part) or span_of(node),
                clause=clause,
                hint="make the rows in a subquery in FROM, where it stands alone in its column, then compute with them",
            )


def _check_constructs(node: exp.Expression, scope: Scope, text: str, clause: str) -> None:
    for part in node.walk():
        span = span_of(part) or span_of(node)
        if isinstance(part, EslWindow | exp.Window):
            place = "inside an aggregate" if clause == "SELECT" else f"in {clause}"
            raise EslSyntaxError(
                f"a window cannot stand {place}",
                text,
                span,
                clause=clause,
                hint="compute its answers in a subquery: SELECT ... FROM (SELECT ... OVER (...) AS y FROM s) AS x",
            )
        if is_subquery(part):
            raise no_subquery(part, text, span, clause)
        name = name_of_call(part)
        if name is not None:
            _check_function(name, scope, text, span_of(part) or span, clause)


def is_subquery(node: exp.Expr) -> bool:
    """Whether a part of an expression reads rows of its own."""
    return isinstance(node, exp.Query | exp.Exists) or (isinstance(node, exp.In) and bool(node.args.get("query")))


def no_subquery(node: exp.Expr, text: str, span: tuple[int, int] | None, clause: str) -> NotYet:
    """Where a subquery cannot stand."""
    hint = "subqueries work in FROM: SELECT ... FROM (SELECT ...) AS x"
    if isinstance(node, exp.Exists | exp.In) and clause != "WHERE":
        hint = "IN and EXISTS work in WHERE: SELECT ... FROM (SELECT ...) AS x WHERE k IN (SELECT ...)"
    message = "a subquery inside an expression is part of the language, but this version cannot run it yet"
    return NotYet(message, text, span, clause=clause, hint=hint)


def check_known(name: str, text: str, span: tuple[int, int] | None, clause: str) -> None:
    """Refuse functions that there are not, and those that nobody may call."""
    if name in functions.FORBIDDEN:
        message = f"{name} is not allowed: {functions.FORBIDDEN[name]}"
        raise Refused(message, text, span, clause=clause, hint="leave it out; SHOW FUNCTIONS lists the others")
    if functions.kind(name) is None:
        raise UnknownName(f"no function '{name}'", text, span, clause=clause, hint=_function_hint(name))


def _check_function(name: str, scope: Scope, text: str, span: tuple[int, int] | None, clause: str) -> None:
    check_known(name, text, span, clause)
    kind = functions.kind(name)
    if kind is functions.Kind.AGGREGATE:
        if clause in _OF_ONE_ROW:
            raise EslSyntaxError(
                f"the aggregate {name} is about many rows, and {clause} about each alone",
                text,
                span,
                clause=clause,
                hint="compute it in a SELECT first, as in CREATE TABLE t AS SELECT max(x) AS high FROM s",
            )
        if scope.bounded:
            raise NotYet(
                f"the aggregate {name} over a table is part of the language, but this version cannot run it yet",
                text,
                span,
                clause=clause,
                hint="docs/language.md lists what works",
            )
        raise Refused(
            f"the aggregate {name} would never answer: {scope.name} is a stream and does not end",
            text,
            span,
            clause=clause,
            hint=WINDOW_HINT,
        )
    if kind is functions.Kind.WINDOW:
        raise Refused(
            f"{name} ranks the rows of a window, and there is none", text, span, clause=clause, hint=WINDOW_HINT
        )
    if kind is functions.Kind.TABLE:
        raise EslSyntaxError(f"{name} gives a table, not a value", text, span, clause=clause)


def _function_hint(name: str) -> str:
    hint = suggest(name, functions.names())
    return hint if hint.startswith("did you mean") else "functions are Spark SQL's; SHOW FUNCTIONS lists them"
