"""How far the tuples of a stream may run ahead of the clock in this run."""

from __future__ import annotations

from pathlib import Path

from millstream.catalog.ahead import USUAL, Ahead
from millstream.catalog.definitions import Stream, TimeStamp
from millstream.connectors.places.paths import is_local, is_pattern
from millstream.connectors.registry import connector
from millstream.spark.host import Host
from millstream.spark.stage.time_limits import MICROSECOND, TimeLimits


def bound_of(stream: Stream, host: Host) -> Ahead | None:
    """How far a stream may run ahead in this run, None if there is no bound.

    What is declared holds in every run. Otherwise there is a bound only where a stream is read live: in a run that goes
    on, of what is pushed, or of a folder that is followed. What is read from a log was judged when it landed.
    """
    if stream.keep is not None:
        return None
    if stream.time_stamp is not TimeStamp.EXTERNAL:
        return None
    if stream.ahead is not None:
        return stream.ahead if stream.ahead.bound is not None else None
    if stream.source is None:  # what is put into it comes as from a folder that is followed
        return None if host.once else USUAL
    kind = connector(stream.source)
    if host.once or kind.clocked:
        return None
    path = host.path(stream.source)
    recorded = kind.files and is_local(path) and Path(path.removeprefix("file:")).is_file()
    return None if recorded and not is_pattern(path) else USUAL


def limits_of(stream: Stream, host: Host) -> TimeLimits | None:
    """What a stage checks of the tuples of a stream, None if we stamp them ourselves."""
    if stream.time_stamp is not TimeStamp.EXTERNAL:
        return None
    bound = bound_of(stream, host)
    if bound is None or bound.bound is None:
        return TimeLimits()
    return TimeLimits(bound.bound // MICROSECOND, bound.waits)
