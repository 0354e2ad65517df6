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


def starts_of(
    query: Query,
    place: QueryPlace,
    streams: Iterable[Stream],
    readers: Readers,
    together: dict[str | None, dict[str, Bound]] | None = None,
) -> dict[str, Bound]:
    """The positions, by the names of the streams in small letters: as they were written down, if they were.

    Queries that begin `together` and say the same begin at the same positions.
    """
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
    found = None if together is None else together.get(said)
    if found is None:
        found = {name: begin_at(readers.open(stream).log.index, stream.name, moment) for name, stream in kept.items()}
    if together is not None:
        together[said] = found
    place.save(_RECORD, {"said": said, "starts": found})
    return found


def has_starts(place: QueryPlace) -> bool:
    """Whether it is written down where a query begins."""
    return bool(place.load(_RECORD))


def forget_starts(place: QueryPlace) -> None:
    """It is to be said anew where a query begins, which has not begun."""
    (place.folder / f"{_RECORD}.json").unlink(missing_ok=True)


def start_of_host(place: QueryPlace, stream: str, begins: Iterable[int]) -> dict[str, Bound]:
    """Where a host begins, whose members begin at these positions; as it was written down, if it was."""
    known = place.load(_RECORD)
    if not known:
        known = {"said": None, "starts": {stream.lower(): Bound(min(begins))}}
        place.save(_RECORD, known)
    return {name: Bound(*bound) for name, bound in known["starts"].items()}


def _words(said: str | None) -> str:
    return "with the earliest row" if said is None else f"at {said}"
