"""The names that CREATE STREAM s (x, y) AS SELECT, and CREATE TABLE, give to the columns of a SELECT."""

from __future__ import annotations

from millstream.catalog.select import Item, Select
from millstream.errors import EslSyntaxError, NameTaken
from millstream.expressions.build.bound import column_of
from millstream.language.parse.statements import CreateStreamAs, CreateTableAs


def rename_columns(select: Select, statement: CreateStreamAs | CreateTableAs, clause: str) -> Select:
    """The SELECT of a statement with the names that this gives to its columns, if it gives any.

    That is a SELECT over it: its own ORDER BY reads the names that it had before.
    """
    names, text = statement.renamed, statement.text
    if not names:
        return select
    if len(names) != len(select.items):
        raise EslSyntaxError(
            f"{len(names)} column names for {len(select.items)} column{'' if len(select.items) == 1 else 's'}",
            text,
            (names[0].span[0], names[-1].span[1]),
            clause=clause,
            hint=f"the SELECT gives {', '.join(item.name for item in select.items)}",
        )
    taken: set[str] = set()
    for name in names:
        if name.text.lower() in taken:
            hint = "give each column a name of its own"
            raise NameTaken(f"two columns are named '{name}'", text, name.span, clause=clause, hint=hint)
        taken.add(name.text.lower())
    new = {item.name: name.text for item, name in zip(select.items, names, strict=True)}
    items = tuple(Item(new[item.name], column_of(item.name, item.type), item.type) for item in select.items)
    time = new[select.time] if select.time else None
    others = tuple(new[time] for time in select.other_times if time in new)
    return Select(select, items, None, select.bounded, time, other_times=others)
