"""The Spark plan of a host: a source, freight, one stage. It does not change with the members."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.arrow import arrow_schema
from millstream.catalog.definitions import OnBadFile, Stream
from millstream.connectors.files.arrow_ingress import BAD_FILES, FILES, PATH, ROWS, WRITTEN_SQL
from millstream.connectors.files.file_lists import FILES_SCHEMA, source_path, stream_reader
from millstream.connectors.history.source import log_reader
from millstream.connectors.registry import options_of
from millstream.plan.scans import Scan
from millstream.spark.buckets import bucket_ids
from millstream.spark.host import Host
from millstream.spark.hosts.freight import FREIGHT_SCHEMA, PIECE_SCHEMA, Kind
from millstream.spark.hosts.host_bucket import STAGE, Bow
from millstream.spark.hosts.host_ingress import COUNTED_SCHEMA, HostInlet, host_file_ingress, host_ingress
from millstream.spark.hosts.host_log_ingress import host_log_ingress
from millstream.spark.hosts.host_stage import HostStage
from millstream.spark.lower.control_stream import marks_of
from millstream.spark.lower.lowering import lower
from millstream.spark.lower.time_bounds import limits_of
from millstream.spark.metrics import READ
from millstream.spark.names import quoted
from millstream.spark.stage.ingress import control_marks
from millstream.spark.stage.map_arrow import map_in_arrow
from millstream.spark.stage.marks import HIDDEN
from millstream.spark.stage.packets import PACKET_SCHEMA


@dataclass(frozen=True)
class Reading:
    """How a host reads its stream: by itself, if these are `files` for that or a log, or by way of Spark.

    `columns` are those that Spark gives; `ordered`, tuples are numbered as they arrive.
    """

    stream: Stream
    files: bool
    columns: Collection[str]
    ordered: bool


def host_frame(reading: Reading, host: Host, start: str) -> DataFrame:
    """The frame of a host that has its place."""
    assert host.place is not None  # noqa: S101  (a host keeps its state)
    folder, stream = Path(host.place.folder), reading.stream
    time = stream.time if reading.files else None if stream.time is None else str(stream.time)
    inlet = HostInlet(folder, bucket_ids(host, None), limits_of(stream, host), time, reading.ordered)
    read = _of_rows if not reading.files else _of_files if stream.keep is None else _of_log
    freight = read(reading, inlet, host)
    marks = marks_of(host.spark, host.place.control, one_by_one=host.once)
    marks = marks.mapInArrow(control_marks(inlet.buckets, {stream.name: [0]}), PACKET_SCHEMA)
    words = ["bucket", "'' AS who", f"'{Kind.PACKET}' AS kind", "payload"]
    dealt = freight.union(marks.selectExpr(*words)).groupBy("bucket")
    stage = HostStage(Bow(folder, host.place.id, start))
    return dealt.transformWithStateInPandas(stage, PIECE_SCHEMA, "append", "none")


def _of_rows(reading: Reading, inlet: HostInlet, host: Host) -> DataFrame:
    tuples = lower(Scan(reading.stream, ordered=reading.ordered), host, marked=True)
    wanted = {name.lower() for name in reading.columns}
    names = [name for name in tuples.columns if name.lower() in wanted or name in HIDDEN]
    return map_in_arrow(tuples.select(*map(quoted, names)), names, host_ingress(inlet), FREIGHT_SCHEMA)


def _of_log(reading: Reading, inlet: HostInlet, host: Host) -> DataFrame:
    stream = reading.stream
    ranges = log_reader(host, stream).load()
    freight = ranges.mapInArrow(host_log_ingress(inlet, host.history_of(stream.name)), COUNTED_SCHEMA)
    return _counted(freight, stream, (ROWS, FILES, BAD_FILES))


def _of_files(reading: Reading, inlet: HostInlet, host: Host) -> DataFrame:
    stream = reading.stream
    assert stream.source is not None  # noqa: S101  (it has files)
    path = source_path(host, stream.source, f"stream {stream.name}")
    reader = stream_reader(host.spark, path, options_of(stream), stream.name).format("binaryFile").schema(FILES_SCHEMA)
    files = reader.load().select(PATH, F.expr(WRITTEN_SQL))
    judged = stream.on_bad_file is OnBadFile.REJECT
    read = host_file_ingress(inlet, arrow_schema(stream.arriving_schema) if judged else None)
    freight = files.mapInArrow(read, COUNTED_SCHEMA)
    return _counted(freight, stream, (ROWS, FILES, BAD_FILES) if judged else (ROWS, FILES))


def _counted(freight: DataFrame, stream: Stream, counts: Collection[str]) -> DataFrame:
    """The freight, of which Spark counts what was read for it."""
    counted = freight.observe(f"{READ}{STAGE}.0.{stream.name}", *(F.sum(count).alias(count) for count in counts))
    return counted.select("bucket", "who", "kind", "payload")
