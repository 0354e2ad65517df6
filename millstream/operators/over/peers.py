"""Tuples of one time and partition: over a frame by time they are in each other's frames, whoever came first.

What a body in SQL returns is about the tuple if it names it, by a parameter: those before it have come, those after it
have not. What names no parameter is about the frame. Peers have the same frame, so all of them have the answer that the
last of them brings. With ACTIVE EXPIRATION answers belong to moments, and so to tuples.
"""

from __future__ import annotations

from millstream.operators.over.over_aggregate_job import OverCall
from millstream.udas.body import Body
from millstream.udas.sql_aggregate import SqlAggregate


def body_of(framed: OverCall) -> Body:
    """The version of an aggregate that a frame calls for."""
    aggregate = framed.call.aggregate
    assert isinstance(aggregate, SqlAggregate)  # noqa: S101
    return (aggregate.versions.window if framed.window.reach is not None else None) or aggregate.versions.any


def with_peers(framed: OverCall) -> bool:
    """Whether peers have the same answer."""
    window = framed.window
    return window.by_time and not window.active and not body_of(framed).speaks_of_tuples
