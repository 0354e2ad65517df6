"""A query that a change concerns."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.mill.engine.prepared_query import PreparedQuery
from millstream.mill.engine.running import RunningQuery


@dataclass(frozen=True)
class Step:
    """A query that a change concerns: as it is, as it is to be, and as it runs, if it does."""

    before: PreparedQuery
    now: PreparedQuery
    running: RunningQuery | None
