"""Puts the rows of a query into a stream."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame

from millstream.catalog.definitions import Sink
from millstream.connectors.places.query_place import QueryPlace
from millstream.connectors.writing.rows_sink import Deliver
from millstream.spark.host import Host
from millstream.spark.stage.feeder_progress import FeederProgress, Part
from millstream.store.feed import Feed, Told


def sink(host: Host, sink: Sink, options: dict[str, object], place: QueryPlace, deliver: Deliver) -> FeedSink:
    """Puts each micro-batch there once."""
    return FeedSink(host.stored.feed(Path(sink.address.rest)), place, host.feeds)


class FeedSink:
    """Each micro-batch becomes a file of the stream. One that comes again is known by its number.

    From now on the stream waits for the query: it comes no further than that has.
    """

    def __init__(self, feed: Feed, place: QueryPlace, parts: Sequence[Part]) -> None:
        self._feed, self._place = feed, place
        self._progress = FeederProgress(parts, feed.enlist(place.id, anew=place.fresh))
        place.check_reached(feed.reached(place.id), f"what the query has put into {feed.folder}")
        self._begun = not place.fresh

    def prepare(self, frame: DataFrame) -> DataFrame:
        """The rows as they are: they have the types of the stream."""
        return frame

    def write(self, frame: DataFrame, batch: int) -> int:
        """Put a batch there."""
        if not self._begun:
            # From now on there may be rows of it that others have read: it cannot begin anew.
            self._place.save("sink", {"batch": batch})
            self._begun = True
        rows: pa.Table = self._progress.take(frame.toArrow())
        self._feed.add(rows, self._place.id, batch, Told(self._progress.state, self._progress.promise))
        return int(rows.num_rows)

    def close(self) -> None:
        """Nothing is held."""
