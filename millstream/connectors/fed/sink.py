"""Puts the rows of a query into a stream."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame

from millstream.catalog.definitions import Sink
from millstream.connectors.places.query_place import QueryPlace
from millstream.connectors.writing.rows_sink import Deliver
from millstream.spark.host import Host
from millstream.store.feed import Feed


def sink(host: Host, sink: Sink, options: dict[str, object], place: QueryPlace, deliver: Deliver) -> FeedSink:
    """Puts each micro-batch there once."""
    feed = host.stored.feed(Path(sink.address.rest))
    if place.fresh:
        feed.forget(place.id)
    return FeedSink(feed, place.id)


class FeedSink:
    """Each micro-batch becomes a file of the stream. One that comes again is known by its number."""

    def __init__(self, feed: Feed, writer: str) -> None:
        self._feed = feed
        self._writer = writer

    def prepare(self, frame: DataFrame) -> DataFrame:
        """The rows as they are: they have the types of the stream."""
        return frame

    def write(self, frame: DataFrame, batch: int) -> int:
        """Put a batch there."""
        rows: pa.Table = frame.toArrow()
        self._feed.add(rows, self._writer, batch)
        return int(rows.num_rows)

    def close(self) -> None:
        """Nothing is held."""
