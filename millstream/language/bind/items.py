"""The columns of a SELECT: expressions with their names, and what * stands for."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from millstream.catalog.select import Item
from millstream.errors import EslSyntaxError, NameTaken, UnknownName, balanced, suggest
from millstream.expressions.build.bound import column_of, tree_of
from millstream.expressions.tree import Column
from millstream.language.bind.expressions import Aliases, bind_expression
from millstream.language.bind.scope import Member, Scope
from millstream.language.parse.call_name import name_of_call
from millstream.language.parse.spans import span_of
from millstream.language.parse.statements import Span
from millstream.language.types import functions


def bind_items(
    nodes: list[exp.Expression], scope: Scope, text: str, starred: Scope | None = None, last: Span | None = None
) -> tuple[tuple[Item, ...], Aliases]:
    """The columns of a result, and what their names stand for in other expressions.

    * stands for the columns of `starred`, which is the scope unless it is given. `last` is where the last of them
    stands, if its node no longer knows.
    """
    items: list[Item] = []
    aliases: dict[str, exp.Expression] = {}
    for node in nodes:
        if star := _star(node):
            found = _expand_star(node, star, starred or scope, text)
            items += found
            aliases.update({item.name.lower(): _column(item) for item in found})
            continue
        inner = node.this if isinstance(node, exp.Alias) else node
        if isinstance(node, exp.Aliases):
            raise EslSyntaxError(
                "a column takes one name", text, span_of(node), clause="SELECT", hint="as in upper(name) AS shown"
            )
        bound, type_ = bind_expression(inner, scope, text, "SELECT", aliases, makes_rows=True)
        _check_generator(bound, items, text, inner)
        name = node.alias if isinstance(node, exp.Alias) else default_name(inner, text)
        items.append(Item(name, tree_of(bound), type_))
        aliases[name.lower()] = bound
    check_names(items, last or span_of(nodes[-1]), text)
    return tuple(items), aliases


def _star(node: exp.Expression) -> exp.Star | None:
    if isinstance(node, exp.Star):
        return node
    return node.this if isinstance(node, exp.Column) and isinstance(node.this, exp.Star) else None


def _expand_star(node: exp.Expression, star: exp.Star, scope: Scope, text: str) -> list[Item]:
    if not scope.name:
        raise EslSyntaxError("* needs a FROM", text, span_of(node), clause="SELECT", hint="add FROM a stream")
    member = scope.member(node.table) if isinstance(node, exp.Column) and node.table else None
    if isinstance(node, exp.Column) and node.table and member is None:
        raise UnknownName(
            f"'{node.table}' is not a stream of this FROM",
            text,
            span_of(node),
            clause="SELECT",
            hint=f"write {' or '.join(f'{m.name}.*' for m in scope.members) or f'{scope.name}.*'}",
        )
    starred = _starred(scope, member)
    if star.args.get("replace") or star.args.get("rename"):
        raise EslSyntaxError("* takes only EXCEPT (...)", text, span_of(node), clause="SELECT")
    left_out = set()
    for part in star.args.get("except_") or ():
        if part.name.lower() not in (name.lower() for name in starred):
            raise UnknownName(
                f"no column '{part.name}' in {scope.name}",
                text,
                span_of(part),
                clause="EXCEPT",
                hint=suggest(part.name, tuple(starred)),
            )
        if part.name.lower() in left_out:
            message, hint = f"'{part.name}' is left out twice", "name it once"
            raise EslSyntaxError(message, text, span_of(part), clause="EXCEPT", hint=hint)
        left_out.add(part.name.lower())
    return [
        Item(name, column_of(actual, scope.types[actual]), scope.types[actual])
        for name, actual in starred.items()
        if name.lower() not in left_out
    ]


def _column(item: Item) -> exp.Expression:
    assert isinstance(item.expression, Column)  # noqa: S101
    column: exp.Expression = exp.column(exp.to_identifier(item.expression.name, quoted=True))
    column.type = item.type
    return column


def _starred(scope: Scope, member: Member | None) -> dict[str, str]:
    """The columns that * stands for: what they are called in the result, and in the scope.

    Two inputs of a join may have columns of one name: the second one gets a number, as in DuckDB.
    """
    if not scope.members:
        return {c.name: c.name for c in scope.schema}
    names: dict[str, str] = {}
    for one in [member] if member else [m for m in scope.members if m.name not in scope.hidden]:
        for low, actual in one.columns.items():
            if low in one.merged and member is None:
                continue  # USING gives one column
            plain = actual.removeprefix(f"{one.name}:").rstrip("'")
            taken = {n.lower() for n in names}
            number = next(n for n in range(len(scope.members) + 1) if _numbered(plain, n).lower() not in taken)
            names[_numbered(plain, number)] = actual
    return names


def _numbered(name: str, number: int) -> str:
    return f"{name}_{number}" if number else name


def default_name(node: exp.Expression, text: str) -> str:
    """The name of a column that was given none: what was written."""
    if isinstance(node, exp.Column | exp.Dot):
        return node.name
    span = span_of(node)
    return node.sql(dialect="spark") if span is None else " ".join(text[slice(*balanced(text, span))].split())


def _check_generator(bound: exp.Expression, before: list[Item], text: str, node: exp.Expression) -> None:
    names = [name_of_call(n) for n in bound.walk()]
    if not any(n and functions.kind(n) is functions.Kind.GENERATOR for n in names):
        return
    top = name_of_call(bound)
    if top is None or functions.kind(top) is not functions.Kind.GENERATOR:
        raise EslSyntaxError(
            "a function that makes rows must stand alone in its column",
            text,
            span_of(node),
            clause="SELECT",
            hint="make the rows in a subquery in FROM, then compute with them",
        )
    argument = bound.find(exp.Column)
    if top not in {"explode", "explode_outer"} or (argument and argument.type and argument.type.is_type("map")):
        raise EslSyntaxError(
            f"{top} gives several columns here, and a column of the result is one",
            text,
            span_of(node),
            clause="SELECT",
            hint="use explode on an array; map_keys, map_values and map_entries make arrays of a map",
        )
    for item in before:
        if functions.makes_rows(item.expression):
            raise EslSyntaxError(
                "only one function that makes rows can stand in a SELECT",
                text,
                span_of(node),
                clause="SELECT",
                hint="put the other one into a subquery in FROM",
            )


def check_names(items: Sequence[Item], span: Span | None, text: str) -> None:
    """Refuse two columns of one name, and point at a place in SELECT."""
    seen: set[str] = set()
    for item in items:
        if item.name.lower() in seen:
            raise NameTaken(
                f"two columns of the result are named '{item.name}'",
                text,
                span,
                clause="SELECT",
                hint="give one of them another name with AS",
            )
        seen.add(item.name.lower())
