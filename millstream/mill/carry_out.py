"""Carries out bound statements: one function for each kind."""

from __future__ import annotations

from functools import singledispatch

from millstream.catalog.address import Address
from millstream.catalog.catalog import STDOUT
from millstream.catalog.definitions import Query, Stream, Table, UserAggregate
from millstream.catalog.schema import Column, Schema, sql_type
from millstream.connectors.text import readable
from millstream.errors import RunError
from millstream.language.bound import (
    Account,
    Assignment,
    Bound,
    Define,
    Description,
    GeneratedCode,
    Listing,
    Measure,
    Plan,
    Reasons,
    Removal,
    Rows,
    Start,
    Store,
)
from millstream.mill import describe
from millstream.mill.analysis import Analysis
from millstream.mill.answers import Answer
from millstream.mill.engine import Engine
from millstream.mill.why_not import why_not
from millstream.plan.explain import explain
from millstream.spark.process.failures import SPARK_ERRORS, explain_failure
from millstream.udas.generated.compiled import compile_aggregate
from millstream.udas.kernels.kernel import kernel_of


@singledispatch
def carry_out(bound: Bound, engine: Engine) -> Answer:
    """Do what a statement asks for."""
    raise NotImplementedError(type(bound).__name__)


@carry_out.register
def _define(bound: Define, engine: Engine) -> Answer:
    definition = bound.definition
    if bound.known:
        return Answer(f"{definition.name} is already there")
    warnings = (*bound.warnings, *(bound.load() if bound.load is not None else ()))
    note = engine.listeners.open(definition, engine.fail_readers) if isinstance(definition, Stream) else ""
    engine.catalog.add(definition)
    created = f"created {describe.kind_of(definition)} {definition.name}{note}"
    return Answer("\n".join([created, *warnings]))


@carry_out.register
def _store(bound: Store, engine: Engine) -> Answer:
    if bound.known:
        return Answer(f"{bound.name} is already there")
    folder = engine.home.table_folder(bound.name)
    frame = engine.frame(bound.select)
    try:
        frame.write.mode("overwrite").parquet(str(folder))
    except SPARK_ERRORS as problem:
        raise RunError(f"table {bound.name} could not be made: {explain_failure(problem)}") from problem
    schema = Schema(Column(f.name, sql_type(f.dataType.simpleString())) for f in frame.schema)
    engine.catalog.add(Table(bound.name, schema, Address("parquet", str(folder))))
    return Answer(f"created table {bound.name}")


@carry_out.register
def _start(bound: Start, engine: Engine) -> Answer:
    running = engine.run(bound.query)
    return Answer(f"started query {running.name}", query=running)


@carry_out.register
def _rows(bound: Rows, engine: Engine) -> Answer:
    if bound.select.bounded:
        try:
            table = readable(engine.frame(bound.select)).toArrow()
        except SPARK_ERRORS as problem:
            raise RunError(explain_failure(problem)) from problem
        return Answer(f"{table.num_rows} row{'' if table.num_rows == 1 else 's'}", table=table)
    running = engine.run(Query(engine.new_name(), bound.select, STDOUT.name, bound.text))
    return Answer(f"started {running.name}", query=running)


@carry_out.register
def _explain(bound: Plan, engine: Engine) -> Answer:
    return Answer("plan", text=explain(engine.physical(bound.asked)))


@carry_out.register
def _measure(bound: Measure, engine: Engine) -> Answer:
    return _analyzed(engine.analyze(bound.asked))


@carry_out.register
def _account(bound: Account, engine: Engine) -> Answer:
    return _analyzed(engine.account(bound.query))


def _analyzed(analysis: Analysis) -> Answer:
    return Answer("analysis", text=analysis.text, analysis=analysis)


@carry_out.register
def _reasons(bound: Reasons, engine: Engine) -> Answer:
    running = engine.query(bound.query.name)
    reasons = why_not(running.name, engine.plan(bound.query), running.counts)
    return Answer("reasons", text=reasons)


@carry_out.register
def _generated_code(bound: GeneratedCode, engine: Engine) -> Answer:
    known = [_code(d) if isinstance(d, UserAggregate) else d.text for d in bound.definitions]
    return Answer("generated Python", text="\n\n".join(known))


def _code(definition: UserAggregate) -> str:
    """The class that a body becomes, and its kernels if it has any."""
    source, kernel = compile_aggregate(definition.body).source, kernel_of(definition.body)
    return source if kernel is None else f"{source}\n\n# compiled by numba\n\n\n{kernel.source}"


@carry_out.register
def _listing(bound: Listing, engine: Engine) -> Answer:
    table = describe.listing(bound.what, engine.catalog, engine.settings, engine.queries)
    return Answer(f"{table.num_rows} {bound.what.lower()}" if table.num_rows != 1 else "1 row", table=table)


@carry_out.register
def _description(bound: Description, engine: Engine) -> Answer:
    return Answer(describe.headline(bound.title, bound.definition), table=describe.columns(bound.schema))


@carry_out.register
def _removal(bound: Removal, engine: Engine) -> Answer:
    definition = bound.definition
    if definition is None:
        return Answer(f"there is no {bound.kind.lower()} {bound.name}")
    if isinstance(definition, Query):
        engine.remove(definition)
    if isinstance(definition, Stream):
        engine.listeners.close(definition)
    engine.catalog.remove(definition)
    return Answer(f"dropped {bound.kind.lower()} {definition.name}")


@carry_out.register
def _assignment(bound: Assignment, engine: Engine) -> Answer:
    engine.settings.assign(bound.name, bound.value)
    return Answer(f"{bound.name} is now {bound.value}")
