"""Carries out statements about rows that are kept: views, and what goes into stored tables and changes there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.ahead import USUAL, Ahead
from millstream.catalog.arrow import to_arrow
from millstream.catalog.catalog import key_of
from millstream.catalog.definitions import StoredTable, Stream, TimeStamp, View
from millstream.catalog.schema import Schema
from millstream.catalog.select import Item, Select, UnionKind, UnionSpec
from millstream.connectors.arrivals import time_of
from millstream.errors import RunError
from millstream.expressions.build.bound import column_of
from millstream.expressions.compile.arrow import NoArrowForm, arrow_value
from millstream.language.bound import Change, Follow, Insertion, OpenView
from millstream.mill.answers import Answer
from millstream.mill.carry_out import carry_out
from millstream.mill.context import Context
from millstream.mill.manage.views import create_view
from millstream.mill.stored.stored_rows import write_rows
from millstream.spark.names import quoted
from millstream.spark.process.failures import SPARK_ERRORS, explain_failure
from millstream.spark.stage.time_limits import MICROSECOND, TimeLimits
from millstream.store.feed import STATEMENT, Told
from millstream.store.position import Position

__all__ = ["carry_out"]


@carry_out.register
def _open_view(bound: OpenView, at: Context) -> Answer:
    view = bound.view
    if bound.known:
        at.definitions.unclaimed -= {key_of(view), key_of(view.query)}
        return Answer(f"{view.name} is already there", query=at.engine.queries.by_name.get(view.name.lower()))
    return Answer(f"created view {view.name}", query=create_view(view, at))


@carry_out.register
def _follow(bound: Follow, at: Context) -> Answer:
    query = bound.query
    if query.keys and query.name.lower() not in at.engine.queries.by_name and (view := at.catalog.relation(query.name)):
        # Its query has not been started since the mill was: what it holds is there all the same.
        after = None if bound.after is None else Position.parse(bound.after)
        kept = at.engine.stored.view(cast("View", view))
        return Answer(f"subscribed to {query.name}", subscription=kept.subscribe(after))
    running = at.engine.queries.get(query.name)
    return Answer(f"subscribed to {running.name}", subscription=running.subscribe(after=bound.after))


@carry_out.register
def _insertion(bound: Insertion, at: Context) -> Answer:
    table = bound.table
    if isinstance(table, Stream):
        return _into_stream(table, bound, at)
    rows = _compute_rows(bound.rows, table.schema) if bound.select is None else None
    if rows is not None:
        _check_null(table, lambda name: rows[name].null_count)
        at.engine.stored.add(table, lambda folder: write_rows(folder, rows))
        return _answer_count(rows.num_rows, "inserted into", table)
    select = bound.select or _unite_rows(bound.rows)
    counted: list[int] = []

    def write(folder: Path) -> None:
        with at.engine.bounded.frame(select, at.settings, at.catalog) as frame:
            counted.append(_write_rows(frame, table, folder)["rows"])

    at.engine.stored.add(table, write)
    return _answer_count(counted[0], "inserted into", table)


def _into_stream(stream: Stream, bound: Insertion, at: Context) -> Answer:
    rows = _compute_rows(bound.rows, stream.arriving_schema) if bound.select is None else None
    if rows is None:
        rows = at.engine.bounded.rows(bound.select or _unite_rows(bound.rows), at.settings, at.catalog)
    feed = at.engine.stored.feed(at.engine.home.feed_folder(stream.name))
    feed.add(rows, STATEMENT, told=Told(promise=_promised(stream, rows, at)))
    return _answer_count(rows.num_rows, "inserted into", stream)


def _promised(stream: Stream, rows: pa.Table, at: Context) -> int | None:
    """What rows promise that a statement puts into a stream: its slack says what may still come behind them."""
    if stream.time_stamp is not TimeStamp.EXTERNAL or not stream.progresses_by_slack or not rows.num_rows:
        return None
    made = {item.name: item.expression for item in stream.computed}
    if stream.time not in made:
        times = rows[stream.time].cast(pa.int64())
    else:
        try:
            times = arrow_value(made[stream.time])[0](rows).cast(pa.int64())
        except NoArrowForm:
            table = at.engine.runtime.spark.createDataFrame(rows).select(time_of(stream).alias("time")).toArrow()
            times = table["time"]
    bound = stream.ahead or (Ahead(None) if at.engine.runtime.place.once else USUAL)
    limits = TimeLimits() if bound.bound is None else TimeLimits(bound.bound // MICROSECOND, bound.waits)
    newest = limits.judge(times).newest
    return None if newest is None else newest - stream.slack // MICROSECOND


@carry_out.register
def _change(bound: Change, at: Context) -> Answer:
    counted: list[int] = []

    def write(folder: Path) -> None:
        with at.engine.bounded.frame(bound.select, at.settings, at.catalog) as frame:
            found = _write_rows(frame, bound.table, folder, bound.marked, bound.what == "deleted")
        counted.append(found["marked"])

    at.engine.stored.replace(Path(bound.table.source.rest), write)
    return _answer_count(counted[0], f"{bound.what} in", bound.table)


def _compute_rows(rows: tuple[tuple[Item, ...], ...], schema: Schema) -> pa.Table | None:
    """Rows that are written out, computed here; None if only Spark can do that."""
    one = pa.table({"": [0]})
    columns: dict[str, list[pa.Array]] = {column.name: [] for column in schema}
    for row in rows:
        for item in row:
            wanted = to_arrow(item.type)
            try:
                compute, type_ = arrow_value(item.expression)
            except NoArrowForm:
                return None
            if wanted is None or type_ != wanted:
                return None
            columns[item.name].append(compute(one))
    return pa.table({name: pa.chunked_array(parts).combine_chunks() for name, parts in columns.items()})


def _unite_rows(rows: tuple[tuple[Item, ...], ...]) -> Select:
    """Rows that are written out, as a SELECT."""
    parts = tuple(Select(None, row, None, bounded=True) for row in rows)
    if len(parts) == 1:
        return parts[0]
    columns = tuple(Item(i.name, column_of(i.name, i.type), i.type) for i in rows[0])
    return Select(UnionSpec(parts, UnionKind.ALL), columns, None, bounded=True)


def _write_rows(
    frame: DataFrame, table: StoredTable, folder: Path, marked: str | None = None, drops: bool = False
) -> dict[str, int]:
    """Write the rows of a frame, and count them: those that are `marked`, and NULL where none may be."""
    seen = Observation()
    must = [column.name for column in table.schema if not column.nullable]
    stays = ~F.col(marked) if marked and drops else F.lit(True)
    told = [F.count(F.when(stays & F.col(quoted(n)).isNull(), 1)).alias(f"null{i}") for i, n in enumerate(must)]
    told.append(F.count(F.lit(1)).alias("rows"))
    if marked:
        told.append(F.count(F.when(F.col(marked), 1)).alias("marked"))
    rows = frame.observe(seen, *told).filter(stays) if drops else frame.observe(seen, *told)
    try:
        rows.select(*[F.col(quoted(c.name)) for c in table.schema]).write.parquet(str(folder))
    except SPARK_ERRORS as problem:
        raise RunError(f"table {table.name} stays as it was: {explain_failure(problem)}") from problem
    counts = {name: int(count) for name, count in seen.get.items()}
    _check_null(table, lambda name: counts[f"null{must.index(name)}"])
    return counts


def _check_null(table: StoredTable, nulls: Callable[[str], int]) -> None:
    for column in table.schema:
        if not column.nullable and (count := nulls(column.name)):
            raise RunError(
                f"table {table.name} stays as it was: {column.name} would be NULL in {count} row"
                f"{'' if count == 1 else 's'}, and is NOT NULL\nhelp: coalesce({column.name}, ...) gives it a value"
            )


def _answer_count(count: int, what: str, table: StoredTable | Stream) -> Answer:
    return Answer(f"{count} row{'' if count == 1 else 's'} {what} {table.name}")
