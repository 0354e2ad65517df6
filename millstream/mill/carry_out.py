"""Carries out bound statements: one function for each kind."""

from __future__ import annotations

from functools import singledispatch
from typing import cast

from millstream.catalog.catalog import STDOUT, key_of
from millstream.catalog.definitions import Query, StoredTable, Stream, Table, UserAggregate, View
from millstream.errors import RunError
from millstream.language.bound import (
    Account,
    Assignment,
    Bound,
    Define,
    Description,
    GeneratedCode,
    Halt,
    History,
    Listing,
    Measure,
    NewName,
    Plan,
    Reasons,
    Removal,
    Replace,
    Resumption,
    Rows,
    Start,
    Store,
)
from millstream.language.names import kind_of
from millstream.mill.answers import Answer, table_of
from millstream.mill.context import Context
from millstream.mill.manage.create_queries import announce_query, create_queries
from millstream.mill.manage.queries import drop_broken, drop_query, start_query, stop_query
from millstream.mill.manage.rename import rename
from millstream.mill.manage.replace_definition import replace_stated
from millstream.mill.manage.store_table import create_table, store_table
from millstream.mill.manage.views import drop_view
from millstream.mill.reports import describe
from millstream.mill.reports.analysis import Analysis
from millstream.mill.reports.list_queries import complete_from, query_rows
from millstream.mill.reports.why_not import why_not
from millstream.mill.stored.definitions import anchor
from millstream.plan.explain import explain
from millstream.spark.process.failures import SPARK_ERRORS, explain_failure
from millstream.udas.generated.compiled import compile_aggregate
from millstream.udas.kernels.kernel import kernel_of


@singledispatch
def carry_out(bound: Bound, at: Context) -> Answer:
    """Do what a statement asks for."""
    raise NotImplementedError(type(bound).__name__)


@carry_out.register
def _define(bound: Define, at: Context) -> Answer:
    definitions, engine = at.definitions, at.engine
    definition = bound.definition
    if bound.known:
        definitions.unclaimed.discard(key_of(definition))
        return Answer(f"{definition.name} is already there")
    if isinstance(definition, StoredTable):
        return create_table(definition, None, at)
    warnings = (*bound.warnings, *(bound.load() if bound.load is not None else ()))
    if at.base != engine.base:
        definition = anchor(definition, at.base)
    entry = definitions.entry_for(definition, at.base)
    note = ""
    if isinstance(definition, Stream):
        definitions.give_folder(entry)
        note = engine.streams.open(definition)
    try:
        definitions.add(definition, entry, at.uses)
    except BaseException:
        if isinstance(definition, Stream):
            engine.streams.close(definition)
        raise
    created = f"created {kind_of(definition)} {definition.name}{note}"
    return Answer("\n".join([created, *warnings]))


@carry_out.register
def _store(bound: Store, at: Context) -> Answer:
    if bound.known:
        return Answer(f"{bound.name} is already there")
    return store_table(bound, at)


@carry_out.register
def _start(bound: Start, at: Context) -> Answer:
    if bound.known:
        at.definitions.unclaimed.discard(key_of(bound.query))
        known = at.engine.queries.by_name.get(bound.query.name.lower())
        return Answer(f"query {bound.query.name} is already there", query=known)
    (running,) = create_queries([announce_query(bound.query, at)], at.engine)
    return Answer(f"started query {running.name}", query=running)


@carry_out.register
def _rows(bound: Rows, at: Context) -> Answer:
    engine = at.engine
    if bound.select.bounded:
        try:
            table = engine.bounded.rows(bound.select, at.settings, at.catalog)
        except SPARK_ERRORS as problem:
            raise RunError(explain_failure(problem)) from problem
        return Answer(f"{table.num_rows} row{'' if table.num_rows == 1 else 's'}", table=table)
    query = Query(engine.queries.new_name(engine.catalog), bound.select, STDOUT.name, bound.text, start=bound.start)
    running = engine.starter.start_unnamed(query, at.manner, at.catalog)
    at.definitions.show(query, at.uses)
    return Answer(f"started {running.name}", query=running)


@carry_out.register
def _explain(bound: Plan, at: Context) -> Answer:
    text = explain(at.engine.planner.physical(bound.asked, at.settings, at.catalog))
    if isinstance(bound.asked, Query) and (begins := complete_from(at.engine.home, bound.asked)) is not None:
        text += f"\nanswers are complete for what begins at {begins} or later"
    return Answer("plan", text=f"{text}{at.engine.hosts.decisions.explain(bound.asked, at.settings, at.catalog)}")


@carry_out.register
def _measure(bound: Measure, at: Context) -> Answer:
    return _answer_analysis(at.engine.bounded.analyze(bound.asked, at.settings, at.catalog))


@carry_out.register
def _account(bound: Account, at: Context) -> Answer:
    return _answer_analysis(at.engine.account(bound.query))


def _answer_analysis(analysis: Analysis) -> Answer:
    return Answer("analysis", text=analysis.text, analysis=analysis)


@carry_out.register
def _reasons(bound: Reasons, at: Context) -> Answer:
    running = at.engine.queries.get(bound.query.name)
    reasons = why_not(running.name, at.engine.planner.plan(bound.query), running.counts)
    return Answer("reasons", text=reasons)


@carry_out.register
def _generated_code(bound: GeneratedCode, at: Context) -> Answer:
    known = [_code(d) if isinstance(d, UserAggregate) else d.text for d in bound.definitions]
    return Answer("generated Python", text="\n\n".join(known))


def _code(definition: UserAggregate) -> str:
    """The class that a body becomes, and its kernels if it has any."""
    source, kernel = compile_aggregate(definition.body).source, kernel_of(definition.body)
    return source if kernel is None else f"{source}\n\n# compiled by numba\n\n\n{kernel.source}"


@carry_out.register
def _list_definitions(bound: Listing, at: Context) -> Answer:
    engine = at.engine
    if bound.what == "SHARING":
        table = table_of(["query", "host", "state", "shares"], engine.hosts.listing())
    else:
        shown = query_rows(engine) if bound.what == "QUERIES" else ()
        table = describe.listing(
            bound.what, at.catalog, at.settings, engine.queries.by_name, engine.readers.describe_history, shown
        )
    return Answer(f"{table.num_rows} {bound.what.lower()}" if table.num_rows != 1 else "1 row", table=table)


@carry_out.register
def _history(bound: History, at: Context) -> Answer:
    entry = at.definitions.entry(bound.definition)
    versions = () if entry is None else at.definitions.store.versions(entry)
    rows = [(v.number, v.name, v.at, " ".join(v.text.split())) for v in versions]
    table = table_of(["version", "name", "since", "text"], rows)
    return Answer(f"{len(rows)} version{'' if len(rows) == 1 else 's'}", table=table)


@carry_out.register
def _replace(bound: Replace, at: Context) -> Answer:
    if isinstance(bound.new, StoredTable):
        return create_table(bound.new, cast("Table", bound.old), at)
    return replace_stated(bound, at)


@carry_out.register
def _new_name(bound: NewName, at: Context) -> Answer:
    return rename(bound, at)


@carry_out.register
def _halt(bound: Halt, at: Context) -> Answer:
    return Answer(stop_query(bound.query, at))


@carry_out.register
def _resumption(bound: Resumption, at: Context) -> Answer:
    message, running = start_query(bound.query, at)
    return Answer(message, query=running)


@carry_out.register
def _description(bound: Description, at: Context) -> Answer:
    kept = at.engine.readers.describe_history
    return Answer(describe.headline(bound.title, bound.definition, kept), table=describe.columns(bound.schema))


@carry_out.register
def _removal(bound: Removal, at: Context) -> Answer:
    definition = bound.definition
    if bound.broken is not None:
        return Answer(f"dropped {bound.kind.lower()} {drop_broken(bound.broken, at)}")
    if definition is None:
        return Answer(f"there is no {bound.kind.lower()} {bound.name}")
    if isinstance(definition, Query):
        drop_query(definition, at)
    elif isinstance(definition, View):
        drop_view(definition, at)
    else:
        if isinstance(definition, Stream):
            at.engine.streams.close(definition)
            at.engine.readers.drop(definition)
            if definition.source is None:
                at.engine.stored.forget_feed(at.engine.home.feed_folder(definition.name))
        at.definitions.remove(definition)
        if isinstance(definition, StoredTable):
            at.engine.stored.remove(definition)
    return Answer(f"dropped {bound.kind.lower()} {definition.name}")


@carry_out.register
def _assignment(bound: Assignment, at: Context) -> Answer:
    at.settings.assign(bound.name, bound.value)
    return Answer(f"{bound.name} is now {bound.value}")
