"""A query on its way into a host."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.connectors.places.query_place import QueryPlace
from millstream.mill.engine.prepared import Ready
from millstream.mill.stored.stored_rows import Kept
from millstream.plan.algebra import Node
from millstream.plan.sharing.shared_plan import SharedPlan
from millstream.spark.hosts.host_sink import Aboard


@dataclass
class Boarding:
    """A query on its way into a host."""

    ready: Ready
    plan: SharedPlan
    buckets: int | None
    state: str | None
    place: QueryPlace
    aboard: Aboard | None = None
    results: Kept | None = None

    @property
    def logical(self) -> Node:
        """Its plan."""
        return self.ready.prepared.plan
