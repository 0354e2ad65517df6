"""Registrations made of rows of Python or Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from millstream.catalog.fit_values import Misfit
from millstream.errors import RunError
from millstream.mill.standing.registration import Registration
from millstream.mill.standing.template import Template
from millstream.mill.standing.templates import Templates


def register_rows(
    templates: Templates, name: str, rows: pa.Table | Iterable[Sequence[object]], handles: Sequence[str | None] = ()
) -> list[Registration]:
    """Register rows of arguments: columns of a table by their names, if these are the parameters, else by place."""
    with templates.lock:
        try:
            named, _ = templates.register(name, _table(templates.named(name), rows), handles)
        except Misfit as problem:
            raise RunError(f"{problem}\nhelp: {problem.hint}") from problem
    return [Registration(templates, handle) for handle in named]


def _table(template: Template, rows: pa.Table | Iterable[Sequence[object]]) -> pa.Table:
    names = [name.lower() for name in template.parameters.names]
    if isinstance(rows, pa.Table):
        given = [name.lower() for name in rows.column_names]
        _check_count(template, len(given))
        return rows.select([given.index(name) for name in names]) if set(given) == set(names) else rows
    listed = list(rows)
    for row in listed:
        _check_count(template, len(row))
    try:
        return pa.table([pa.array([row[n] for row in listed]) for n in range(len(names))], names=names)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as problem:
        hint = f"each column has one type; the parameters are {template.parameters}"
        raise RunError(f"the rows are no table: {problem}\nhelp: {hint}") from problem


def _check_count(template: Template, count: int) -> None:
    if count != len(template.parameters):
        raise RunError(
            f"{count} arguments for {len(template.parameters)} parameters of {template.query.name}\n"
            f"help: the parameters are {template.parameters}"
        )
