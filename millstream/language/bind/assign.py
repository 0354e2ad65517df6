"""Values for the columns of a table or a stream: which goes where, and whether it fits."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from millstream.catalog.schema import Column, Schema, SqlType, type_name
from millstream.catalog.select import Item, Select
from millstream.errors import EslSyntaxError, TypeMismatch, UnknownName, suggest
from millstream.expressions.build.bound import cast_to, column_of, tree_of
from millstream.expressions.tree import NULL, Literal, Value
from millstream.expressions.tree import Column as ColumnValue
from millstream.expressions.words import message_text
from millstream.language.bind.expressions import bind_expression
from millstream.language.bind.scope import NOTHING
from millstream.language.parse.spans import span_of
from millstream.language.parse.statements import Name, Span
from millstream.language.types.assignment import fits
from millstream.language.types.coercion import spelt

INSERT = "INSERT INTO"


def chosen_columns(into: str, schema: Schema, names: Sequence[Name], text: str) -> tuple[Column, ...]:
    """The columns that an INSERT names, or all of them; those that it leaves out are NULL."""
    if not names:
        return tuple(schema)
    found = [find_column(into, schema, name, text, INSERT) for name in names]
    for name, column, before in zip(names, found, range(len(found)), strict=True):
        if column in found[:before]:
            raise EslSyntaxError(f"'{name}' is named twice", text, name.span, clause=INSERT, hint="name it once")
    for column in schema:
        if column not in found and not column.nullable:
            message, span = f"'{column.name}' is NOT NULL, and gets no value", (names[0].span[0], names[-1].span[1])
            raise EslSyntaxError(message, text, span, clause=INSERT, hint=f"name {column.name}, too")
    return tuple(found)


def find_column(into: str, schema: Schema, name: Name, text: str, clause: str) -> Column:
    """The column of that name."""
    column = schema.find(name.text)
    if column is None:
        message, hint = f"no column '{name}' in {into}", suggest(name.text, schema.names)
        raise UnknownName(message, text, name.span, clause=clause, hint=hint)
    return column


def assigned(value: Value, type_: SqlType, column: Column, text: str, span: Span | None, clause: str) -> Value:
    """A bound value as the column can hold it; one that does not fit is refused."""
    if not fits(value, type_, column.type):
        raise TypeMismatch(
            f"'{column.name}' is {type_name(column.type)}, and gets {message_text(value)}, which is {type_name(type_)}",
            text,
            span,
            clause=clause,
            hint=f"CAST(... AS {type_name(column.type)}) makes one of it, or NULL if that cannot be",
        )
    if isinstance(value, Literal) and value.value is None and not column.nullable:
        message, hint = f"'{column.name}' is NOT NULL", "write a value"
        raise TypeMismatch(message, text, span, clause=clause, hint=hint)
    if type_name(spelt(type_)) == type_name(spelt(column.type)):
        return value
    return cast_to(value, spelt(column.type))


def assigned_rows(
    rows: Sequence[Sequence[exp.Expression]],
    spans: Sequence[Span],
    columns: Sequence[Column],
    schema: Schema,
    text: str,
) -> tuple[tuple[Item, ...], ...]:
    """Rows that are written out, as rows of all columns."""
    made = []
    for row, span in zip(rows, spans, strict=True):
        _check_count(len(row), columns, text, span)
        values = {}
        for node, column in zip(row, columns, strict=True):
            bound, type_ = bind_expression(node, NOTHING, text, "VALUES")
            at = span_of(node) or span
            values[column.name] = assigned(tree_of(bound), type_, column, text, at, "VALUES")
        made.append(tuple(Item(c.name, values.get(c.name) or _nothing(c), c.type) for c in schema))
    return tuple(made)


def item_spans(query: exp.Query, count: int) -> Sequence[Span | None]:
    """Where the columns of a SELECT stand in its text, as far as that can be told."""
    items = query.expressions if isinstance(query, exp.Select) else ()
    if len(items) != count or any(item.is_star for item in items):
        return [None] * count
    return [span_of(item.unalias()) for item in items]


def assigned_select(
    select: Select, columns: Sequence[Column], schema: Schema, text: str, span: Span, spans: Sequence[Span | None]
) -> Select:
    """A SELECT whose columns, one after the other, become those of a table or a stream; they stand at `spans`."""
    _check_count(len(select.items), columns, text, span)
    values = {}
    for item, column, at in zip(select.items, columns, spans, strict=True):
        read = column_of(item.name, item.type)
        literal = item.expression if isinstance(item.expression, Literal) else read
        assigned(literal, item.type, column, text, at or span, INSERT)
        cast = type_name(spelt(item.type)) != type_name(spelt(column.type))
        values[column.name] = cast_to(read, spelt(column.type)) if cast else read
    items = tuple(Item(c.name, values.get(c.name) or _nothing(c), c.type) for c in schema)
    if [(i.name, i.expression) for i in items] == [(i.name, column_of(i.name, i.type)) for i in select.items]:
        return select
    time = next((i.name for i in items if select.time and _reads(i.expression, select.time)), None)
    return Select(select, items, None, select.bounded, time)


def _reads(value: Value, column: str) -> bool:
    """Whether a value is a column as it is."""
    return isinstance(value, ColumnValue) and value.name == column


def _check_count(count: int, columns: Sequence[Column], text: str, span: Span) -> None:
    if count != len(columns):
        raise EslSyntaxError(
            f"{count} value{'' if count == 1 else 's'} for {len(columns)} column{'' if len(columns) == 1 else 's'}",
            text,
            span,
            clause=INSERT,
            hint=f"give {', '.join(c.name for c in columns)}; INSERT INTO t (a, b) names those that are given",
        )


def _nothing(column: Column) -> Value:
    return cast_to(Literal(None, NULL), spelt(column.type))
