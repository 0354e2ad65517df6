"""What has state, on Spark: ingress, shuffle by bucket, stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from sqlglot import exp

from millstream.aggregates.registry import find
from millstream.catalog import definitions as bound
from millstream.catalog.arrow import to_arrow
from millstream.catalog.definitions import AggregateCall, Item, Stream
from millstream.operators.blobs import Blobs
from millstream.operators.contract import Operator
from millstream.operators.framed import Framed, FramedCall
from millstream.operators.from_first import FromFirst
from millstream.operators.grouped import TIME, Call, Grouped
from millstream.operators.late import LateTuples
from millstream.operators.over_calls import over_operator
from millstream.operators.paned_aggregate import EMITTED, END, STAMP, START, PanedAggregate
from millstream.operators.partials import partial_states
from millstream.operators.row_windows import RowWindows
from millstream.operators.session_windows import SessionWindows
from millstream.operators.slide_by_tuple import SlideByTupleWindows
from millstream.plan.algebra import LateScan, Node, OverAggregate, Scan, TableScan, WindowAggregate
from millstream.plan.trace import steps, trace
from millstream.spark.bucket_run import Outlet
from millstream.spark.buckets import bucket_ids
from millstream.spark.control import END as END_MARK
from millstream.spark.control import marks_of
from millstream.spark.expressions import spark_text
from millstream.spark.host import Host
from millstream.spark.ingress import Inlet, control_marks, ingress
from millstream.spark.marks import LEFT_OUT, MARK
from millstream.spark.names import quoted
from millstream.spark.packets import PACKET_SCHEMA
from millstream.spark.progress import LATE
from millstream.spark.read_tables import with_tables
from millstream.spark.stage import Stage
from millstream.spark.unnest import Nested, unnested_schema
from millstream.spark.wire import from_wire, wire_schema
from millstream.windows.cumulate import Cumulate
from millstream.windows.rows import Rows
from millstream.windows.session import Session
from millstream.windows.slide_by_tuple import SlideByTuple
from millstream.windows.sliding import Sliding

MICROSECOND = timedelta(microseconds=1)
END_INCLUSIVE = (Rows, SlideByTuple)
"""The kinds whose window_end is the time of their last tuple; that of the others is the first moment after."""

ANSWER_TIME = "time"
"""What the promise of a stage of OVER is about: the time stamp of its tuples."""


@dataclass(frozen=True)
class _Origin:
    """Where the tuples of a stage come from: a source with a slack, or the buckets of the stage before."""

    time: SparkColumn
    slack: int | None
    origins: int = 0
    promised: str | None = None


def lower_window(
    node: WindowAggregate, frame: DataFrame, host: Host, marked: bool, lists: tuple[Nested, ...] = ()
) -> DataFrame:
    """The frame that computes a window aggregate over the frame of its input; answers in `lists` become rows."""
    work, columns = _work(node.windowed, host)
    make, prepare = _operator(work)
    keys = tuple(work.key_names if _by_group(work) else work.key_names[: work.partition])
    origin = _origin(node.below, node.windowed.time, host)
    inlet = Inlet(bucket_ids(host), keys, prepare, origin.promised, _key_sources(node))
    answers = unnested_schema(_answers(work, node.gives), lists)
    staged = _staged(node, frame, columns, inlet, origin, make, answers, _window_promises(work), host, lists)
    return _given(staged, answers, marked)


def lower_over(
    node: OverAggregate, frame: DataFrame, host: Host, marked: bool, lists: tuple[Nested, ...] = ()
) -> DataFrame:
    """The frame that adds the answers of OVER to the frame of its input; those in `lists` become rows."""
    work, columns = _frames(node.framed, host)
    origin = _origin(node.below, node.framed.time, host)
    inlet = Inlet(bucket_ids(host), tuple(work.partition_names), promised=origin.promised)
    fields = {f.name.lower(): f for f in to_arrow_schema(frame.schema, timezone="UTC")}
    carried = [fields[name.lower()].with_name(name) for name in work.carried]
    results = [pa.field(n, c.call.aggregate.result) for c in work.calls for n in c.call.names]
    answers = unnested_schema(pa.schema([*carried, *results]), lists)
    make = partial(over_operator(work), work)
    staged = _staged(node, frame, columns, inlet, origin, make, answers, ((ANSWER_TIME, 0),), host, lists)
    return _given(staged, answers, marked)


def lower_late(node: LateScan, frame: DataFrame, host: Host) -> DataFrame:
    """The frame of a stream's late tuples over the frame of its tuples."""
    columns = {name: quoted(name) for name in node.stream.schema.names}
    inlet = Inlet(bucket_ids(host), None)
    origin = _origin(Scan(node.stream), node.stream.time, host)
    answers = to_arrow_schema(frame.select(*columns.values()).schema, timezone="UTC")
    staged = _staged(node, frame, columns, inlet, origin, LateTuples, answers, (), host)
    return _given(staged, answers, marked=False)


def _staged(
    node: Node,
    frame: DataFrame,
    columns: dict[str, str],
    inlet: Inlet,
    origin: _Origin,
    make: Callable[[Blobs], Operator],
    answers: pa.Schema,
    promises: tuple[tuple[str, int], ...],
    host: Host,
    lists: tuple[Nested, ...] = (),
) -> DataFrame:
    """The frame through ingress and stage; what the control stream says comes in with the tuples of a source."""
    wanted = {**{name: F.expr(text) for name, text in columns.items()}, TIME: origin.time}
    if LEFT_OUT in frame.columns:  # of these nothing but the time stamp is needed
        wanted = {name: F.when(F.col(LEFT_OUT).isNull(), column) for name, column in wanted.items()}
    hidden = [name for name in (MARK, LEFT_OUT) if name in frame.columns]
    tuples = frame.select(*[column.alias(name) for name, column in wanted.items()], *hidden)
    packets = tuples.mapInArrow(ingress(inlet), PACKET_SCHEMA)
    if not origin.origins:
        packets = packets.union(_control(host).mapInArrow(control_marks(inlet.buckets), PACKET_SCHEMA))
    number = sum(isinstance(step, WindowAggregate | OverAggregate) for step in steps(node))
    query = host.place.id if host.place else ""
    given = answers.append(pa.field(MARK, pa.string()))
    stage = Stage(Outlet(query, number, given, make, origin.slack, origin.origins, promises, lists))
    staged = packets.groupBy("bucket").transformWithStateInPandas(stage, wire_schema(given), "append", "none")
    source = _source(node)
    if isinstance(source, Stream):
        name = f"{LATE}{source.name}" if not origin.origins else f"{LATE}{source.name}.{number}"
        late = F.when(F.col(MARK).isNotNull(), F.get_json_object(MARK, "$.late").cast("bigint"))
        staged = staged.observe(name, F.sum(late).alias("late"))
    return staged


def _control(host: Host) -> DataFrame:
    """The marks of a query; one over tables ends as soon as it has begun."""
    if host.place is None:
        return host.spark.createDataFrame([(END_MARK,)], "value STRING")
    return marks_of(host.spark, host.place.control)


def _given(staged: DataFrame, answers: pa.Schema, marked: bool) -> DataFrame:
    """The answers as typed columns, without the marks unless someone reads them."""
    if marked:
        return from_wire(staged, answers.append(pa.field(MARK, pa.string())))
    return from_wire(staged.filter(F.col(MARK).isNull()), answers)


# -- operators ---------------------------------------------------------------------------------------------


def _operator(work: Grouped) -> tuple[Callable[[Blobs], Operator], Callable[[pa.Table], pa.Table] | None]:
    """What runs in the stage, and what can be done before the shuffle."""
    if work.from_first:
        return partial(FromFirst, work), None
    match work.window:
        case Rows():
            return partial(RowWindows, work), None
        case SlideByTuple():
            return partial(SlideByTupleWindows, work), None
        case Session():
            return partial(SessionWindows, work), None
    return partial(PanedAggregate, work), partial(partial_states, work)


def _by_group(work: Grouped) -> bool:
    """Whether a group can be computed without the others: its windows do not depend on what they hold."""
    return not isinstance(work.window, Rows | SlideByTuple | Session)


def _work(windowed: bound.Windowed, host: Host) -> tuple[Grouped, dict[str, str]]:
    """What the operator does, and the columns that Catalyst computes for it."""
    columns = {item.name: spark_text(item.expression) for item in windowed.keys}
    count = find("count_star")
    assert count is not None  # noqa: S101
    # The count of rows says which groups are there; whoever asks for it gets the same.
    plain = [c.name for c in windowed.calls if c.aggregate.name == count.name and c.condition is None]
    others = [c for c in windowed.calls if c.name not in plain]
    calls = (Call(count([]), names=tuple(plain)), *_calls(others, columns, host))
    work = Grouped(_typed(windowed.keys), calls, windowed.window, windowed.partition)
    return replace(work, emit=windowed.emit, from_first=windowed.from_first), columns


def _frames(framed: bound.Framed, host: Host) -> tuple[Framed, dict[str, str]]:
    columns = {name: quoted(name) for name in framed.carried}
    columns.update((item.name, spark_text(item.expression)) for item in framed.keys)
    calls = _calls([c.call for c in framed.calls], columns, host)
    pairs = zip(calls, framed.calls, strict=True)
    return Framed(_typed(framed.keys), tuple(FramedCall(c, f.window) for c, f in pairs), framed.carried), columns


def _calls(calls: Sequence[AggregateCall], columns: dict[str, str], host: Host) -> list[Call]:
    """The calls, whose arguments and conditions are added to the columns; what is read twice is carried once."""
    by_text: dict[str, str] = {}

    def column(text: str) -> str:
        if text not in by_text:
            by_text[text] = f"__a{len(by_text)}"
            columns[by_text[text]] = text
        return by_text[text]

    return [
        Call(
            with_tables(call, host),
            tuple(column(spark_text(a)) for a in call.arguments),
            None if call.condition is None else column(spark_text(call.condition)),
            (call.name,),
        )
        for call in calls
    ]


def _typed(keys: Sequence[Item]) -> tuple[tuple[str, pa.DataType], ...]:
    typed = []
    for item in keys:
        type_ = to_arrow(item.type)
        assert type_ is not None  # noqa: S101  (the binder refuses others)
        typed.append((item.name, type_))
    return tuple(typed)


def _answers(work: Grouped, gives: frozenset[str] | None) -> pa.Schema:
    """The columns that cross to Spark: those that anything above reads."""
    keys = [pa.field(name, type_) for name, type_ in work.keys]
    emitted = [pa.field(EMITTED, pa.string())] if work.emit else []
    fields = [*keys, *work.results, pa.field(START, STAMP), pa.field(END, STAMP), *emitted]
    return pa.schema([field for field in fields if gives is None or field.name in gives])


# -- progress ----------------------------------------------------------------------------------------------


def _origin(below: Node, time: str | None, host: Host) -> _Origin:
    """The time stamp of the tuples that a stage reads, and where its progress comes from."""
    source = next(s for s in steps(below) if isinstance(s, Scan | TableScan | WindowAggregate | OverAggregate))
    stamp = F.unix_micros(F.current_timestamp()) if time is None else F.unix_micros(F.col(quoted(time)))
    if isinstance(source, TableScan):
        return _Origin(stamp, 0)
    if isinstance(source, Scan):
        return _Origin(stamp, source.stream.slack // MICROSECOND if source.stream.progresses_by_slack else None)
    found = trace(below, time) if time else None
    promised = None if found is None else ANSWER_TIME if isinstance(source, OverAggregate) else found[1]
    if (
        isinstance(source, WindowAggregate)
        and promised == END
        and not isinstance(source.windowed.window, END_INCLUSIVE)
    ):
        stamp = stamp - F.lit(1)  # an answer belongs to the last moment of its window, not to the next window
    return _Origin(stamp, None, len(bucket_ids(host)), promised)


def _window_promises(work: Grouped) -> tuple[tuple[str, int], ...]:
    """What a stage can promise of its answers: their ends, and their starts if all windows have one length."""
    match work.window:
        case Sliding(range=length) | Cumulate(size=length):
            return ((END, 0), (START, length))
    return ((END, 0),)


def _key_sources(node: WindowAggregate) -> dict[str, str]:
    """The keys that are plain columns of the stream, by which punctuation in the data can name groups."""
    found = {}
    for item in node.windowed.keys:
        if isinstance(item.expression, exp.Column):
            origin = trace(node.below, item.expression.name)
            if origin and isinstance(origin[0], Scan):
                found[item.name] = origin[1].lower()
    return found


def _source(node: Node) -> Stream | None:
    last = list(steps(node))[-1]
    return last.stream if isinstance(last, Scan | LateScan) else None
