"""Carries out what is asked of registrations."""

from __future__ import annotations

import pyarrow as pa

from millstream.catalog.fit_values import Misfit
from millstream.catalog.select import Select
from millstream.connectors.writing.text import readable
from millstream.errors import RunError
from millstream.language.bind.registrations import HANDLE as HANDLES
from millstream.language.bound import Invocation, Registering, RegistrationListing, Unregistering
from millstream.mill.answers import Answer
from millstream.mill.carry_out import carry_out
from millstream.mill.context import Context
from millstream.mill.standing.template import Template
from millstream.spark.process.failures import SPARK_ERRORS, explain_failure
from millstream.spark.stage.registration_log import HANDLE


@carry_out.register
def _register(bound: Registering, at: Context) -> Answer:
    templates = at.engine.templates
    rows, handles = (bound.rows, bound.handles) if isinstance(bound.rows, pa.Table) else _select_rows(bound.rows, at)
    try:
        named, new = templates.register(bound.template, rows, handles)
    except Misfit as problem:
        raise RunError(f"{problem}\nhelp: {problem.hint}") from problem
    if len(named) == 1:
        return Answer(f"registered {named[0]}" if new else f"{named[0]} is already there")
    shown = "" if not named else f": {named[0]} to {named[-1]}"
    known = f"; {len(named) - new} were already there" if new < len(named) else ""
    return Answer(f"registered {new} with {bound.template}{shown}{known}")


def _select_rows(select: Select, at: Context) -> tuple[pa.Table, list[str | None]]:
    """The rows of a SELECT, and their handles if it gives some."""
    try:
        with at.engine.bounded.frame(select, at.settings, at.catalog) as frame:
            table = readable(frame).toArrow()
    except SPARK_ERRORS as problem:
        raise RunError(explain_failure(problem)) from problem
    names = [name.lower() for name in table.column_names]
    if HANDLES not in names:
        return table, []
    place = names.index(HANDLES)
    return table.remove_column(place), table.column(place).to_pylist()


@carry_out.register
def _unregister(bound: Unregistering, at: Context) -> Answer:
    at.engine.templates.unregister(bound.handles)
    return Answer(f"unregistered {', '.join(bound.handles)}")


@carry_out.register
def _invoke(bound: Invocation, at: Context) -> Answer:
    found = at.engine.templates.invoke(bound.handle, bound.since, bound.last)
    rows = f"{found.rows.num_rows} row{'' if found.rows.num_rows == 1 else 's'}"
    lost = "; older ones are no longer kept: SET results_kept says how many are" if found.lost else ""
    return Answer(f"{rows}{lost}", table=found.rows)


@carry_out.register
def _list(bound: RegistrationListing, at: Context) -> Answer:
    templates = at.engine.templates
    if bound.template is not None:
        template = templates.named(bound.template)
        table = template.table().rename_columns(["handle", *template.parameters.names])
        return Answer(_count_text(table), table=table)
    tables = [_list_registrations(template) for template in templates.all()]
    asleep = "".join(f"; those of {name} are known once it is started" for name in templates.asleep)
    columns = ["handle", "query", "arguments"]
    empty = pa.table({name: pa.array([], pa.string()) for name in columns})
    whole = pa.concat_tables([empty, *tables])
    return Answer(f"{_count_text(whole)}{asleep}", table=whole)


def _list_registrations(template: Template) -> pa.Table:
    """The registrations of a template beside those of others, with their arguments as texts."""
    table = template.table()
    names = table.column_names[1:]
    rows = zip(*(table[name].to_pylist() for name in names), strict=True)
    texts = [", ".join(f"{name} = {value}" for name, value in zip(names, row, strict=True)) for row in rows]
    query = pa.array([template.query.name] * table.num_rows, pa.string())
    return pa.table({"handle": table[HANDLE], "query": query, "arguments": pa.array(texts, pa.string())})


def _count_text(table: pa.Table) -> str:
    return f"{table.num_rows} registration{'' if table.num_rows == 1 else 's'}"
