"""What an expression reads, the terms that AND joins in it, and the same expression over other columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from millstream.expressions.tree import BOOL, Call, Case, Column, Lambda, OnlySpark, Span, Value


def children(value: Value) -> tuple[Value, ...]:
    """The values that a value is made of."""
    match value:
        case Call(arguments=arguments) | OnlySpark(arguments=arguments):
            return arguments
        case Case(branches=branches, default=default):
            return (*(part for branch in branches for part in branch), default)
        case Lambda(body=body):
            return (body,)
    return ()


def over_children(value: Value, parts: Sequence[Value]) -> Value:
    """The same value made of others."""
    match value:
        case Call() | OnlySpark():
            return replace(value, arguments=tuple(parts))
        case Case():
            branches = tuple(zip(parts[:-1:2], parts[1:-1:2], strict=True))
            return replace(value, branches=branches, default=parts[-1])
        case Lambda():
            return replace(value, body=parts[0])
    return value


def bare(value: Value) -> Value:
    """A value as it was written: without the casts that nobody has."""
    while isinstance(value, Call) and value.unwritten:
        value = value.arguments[0]
    return value


def walk(*values: Value | None) -> Iterator[Value]:
    """Every part of values, each before what it is made of; None has none."""
    for value in values:
        if value is not None:
            yield value
            yield from walk(*children(value))


def span_of(value: Value) -> Span | None:
    """Where a value stands in the text of its statement, as far as its parts know their places."""
    spans = [part.span for part in walk(value) if isinstance(part, Call | OnlySpark) and part.span is not None]
    return (min(first for first, _ in spans), max(last for _, last in spans)) if spans else None


def rewrite(value: Value, step: Callable[[Value], Value]) -> Value:
    """The value with a step applied to every part, the innermost first."""
    parts = children(value)
    found = [rewrite(part, step) for part in parts]
    same = all(new is old for new, old in zip(found, parts, strict=True))
    return step(value if same else over_children(value, found))


def columns_of(*values: Value | None) -> frozenset[str]:
    """The names of the columns that values read, as the binder spells them; None reads nothing.

    >>> from millstream.expressions.tree import INT32
    >>> sorted(columns_of(Call("add_int32", (Column("a", INT32), Column("B", INT32)), INT32), None))
    ['B', 'a']
    """
    return frozenset(part.name for part in walk(*values) if isinstance(part, Column))


def terms_of(condition: Value | None) -> list[Value]:
    """The conditions that must all hold; none at all if there is no condition.

    >>> a, b, c = (Column(name, BOOL) for name in "abc")
    >>> [term.name for term in terms_of(all_of([a, all_of([b, c])]))]
    ['a', 'b', 'c']
    """
    if condition is None:
        return []
    if isinstance(condition, Call) and condition.function == "and":
        return [term for part in condition.arguments for term in terms_of(part)]
    return [condition]


def all_of(terms: Iterable[Value]) -> Value | None:
    """The condition that all of these hold; None if there are none."""
    return joined("and", list(terms))


def joined(function: str, terms: Sequence[Value]) -> Value | None:
    """Conditions that AND joins, or OR: a flat tree, however many there are."""
    if len(terms) < 2:
        return terms[0] if terms else None
    half = (len(terms) + 1) // 2
    sides = (joined(function, terms[:half]), joined(function, terms[half:]))
    return Call(function, tuple(side for side in sides if side is not None), BOOL)


def over_columns(value: Value, meanings: Mapping[str, Value]) -> Value:
    """The value with the meanings of its columns in their place; `meanings` go by names in small letters.

    >>> from millstream.expressions.tree import INT32
    >>> over_columns(Column("B", INT32), {"b": Column("a", INT32)}).name
    'a'
    """
    return rewrite(value, lambda part: meanings[part.name.lower()] if isinstance(part, Column) else part)


def renamed(value: Value, names: Mapping[str, str]) -> Value:
    """The value with columns under other names; `names` go by those in small letters, and others stay."""

    def rename(part: Value) -> Value:
        if isinstance(part, Column) and (name := names.get(part.name.lower(), part.name)) != part.name:
            return replace(part, name=name)
        return part

    return rewrite(value, rename) if names else value


BY_LOT = {"monotonically_increasing_id", "rand", "randn", "random", "randstr", "shuffle", "uniform", "uuid"}
"""The functions whose values are drawn by lot."""


def draws_lots(value: Value) -> bool:
    """Whether a value is drawn by lot, anew for each row."""
    return any(isinstance(part, OnlySpark) and part.name in BY_LOT for part in walk(value))
