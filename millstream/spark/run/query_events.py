"""Spark's query events, read as JSON: one call to the JVM for each.

PySpark makes Python objects of an event field by field. For one micro-batch that is some hundred calls, and the end of
each map is an exception of Java, for which PySpark looks up its classes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery

SparkEvent = Mapping[str, Any]
"""An event, or the progress of a query, as it stands in JSON."""


class QueryEvents:
    """Hears of the queries of a session."""

    def __init__(self, spark: SparkSession) -> None:
        self._queries = spark.streams
        self._listener = _Listener(self)
        self._queries.addListener(self._listener)

    def stop(self) -> None:
        """Hear no more."""
        self._queries.removeListener(self._listener)

    def started(self, event: SparkEvent) -> None:
        """A query has started."""

    def progressed(self, progress: SparkEvent) -> None:
        """A query has done a micro-batch, or has found nothing to do."""

    def ended(self, event: SparkEvent) -> None:
        """A query has ended."""


def recent_progress(query: StreamingQuery) -> list[SparkEvent]:
    """What a query did last."""
    return [json.loads(progress.json()) for progress in query._jsq.recentProgress()]  # noqa: SLF001


_WRAPPER = "org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper"


class _Listener(StreamingQueryListener):
    """Stands for PySpark's listener, so that its manager takes it, with another way to hear."""

    def __init__(self, events: QueryEvents) -> None:
        self._jlistenerobj = getattr(SparkContext._jvm, _WRAPPER)(_Heard(events))  # noqa: SLF001

    def onQueryStarted(self, event: object) -> None:  # noqa: N802
        """Never called."""

    def onQueryProgress(self, event: object) -> None:  # noqa: N802
        """Never called."""

    def onQueryTerminated(self, event: object) -> None:  # noqa: N802
        """Never called."""


class _Heard:
    """The Java interface through which Spark tells."""

    def __init__(self, events: QueryEvents) -> None:
        self._events = events

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        self._events.started(json.loads(event.json()))

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        self._events.progressed(json.loads(event.progress().json()))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """There is nothing to do."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        self._events.ended(json.loads(event.json()))

    class Java:
        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)
