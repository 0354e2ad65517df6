"""Where queries begin in the histories that they read: fixed when a query is created, and written down beside it."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.catalog.definitions import Query, Stream
from millstream.catalog.moment import At, Moment
from millstream.connectors.places.query_place import QueryPlace
from millstream.errors import RunError
from millstream.history.moments import Bound, begin_at
from millstream.mill.streams.readers import Readers

_RECORD = "starts"


def starts_of(query: Query, place: QueryPlace, streams: Iterable[Stream], readers: Readers) -> dict[str, Bound]:
    """The positions, by the names of the streams in small letters: as they were written down, if they were."""
    kept = {stream.name.lower(): stream for stream in streams if stream.keep is not None}
    if not kept:
        return {}
    said = None if query.start is None else str(query.start)
    known = place.load(_RECORD)
    if known and known["said"] != said and not place.fresh:
        raise RunError(
            f"query {query.name} began {_words(known['said'])}, and is to begin now {_words(said)}\n"
            f"help: keep what it was; or give the query another name, or remove {place.folder} to begin anew"
        )
    if known and known["said"] == said and set(known["starts"]) == set(kept):
        return {name: Bound(*bound) for name, bound in known["starts"].items()}
    # Where a query begins must be said when it is created: what "the end" is would change until its first batch.
    moment = query.start or Moment(At.EARLIEST)
    found = {name: begin_at(readers.open(stream).log.index, stream.name, moment) for name, stream in kept.items()}
    place.save(_RECORD, {"said": said, "starts": found})
    return found


def _words(said: str | None) -> str:
    return "with the earliest row" if said is None else f"at {said}"
