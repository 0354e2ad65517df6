"""The start positions of queries in histories: fixed when a query is created, and stored in its folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from millstream.catalog.definitions import Query, Stream
from millstream.catalog.moment import At, Moment
from millstream.connectors.places.query_place import QueryPlace
from millstream.errors import RunError
from millstream.history.moments import Bound, begin_at
from millstream.mill.streams.readers import Readers

_RECORD, _COMPLETE = "starts", "complete"


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
        return kept_starts(place.folder)
    # Where a query begins must be said when it is created: what "the end" is would change until its first batch.
    moment = query.start or Moment(At.EARLIEST)
    found = None if together is None else together.get(said)
    if found is None:
        found = {name: begin_at(readers.open(stream).log.index, stream.name, moment) for name, stream in kept.items()}
    if together is not None:
        together[said] = found
    keep_starts(query, place, found)
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


def begun_anew(place: QueryPlace, streams: Iterable[Stream]) -> dict[str, int]:
    """Since when a query that was let begin anew has had all tuples, of each stream without a history."""
    since = place.load(_COMPLETE).get("from")
    return {} if since is None else {stream.name.lower(): int(since) for stream in streams if stream.keep is None}


def keep_starts(
    query: Query, place: QueryPlace, starts: Mapping[str, Bound], begun: Mapping[str, Bound] | None = None
) -> None:
    """Write down where a query begins to read, and where it has `begun` as a query, if it has read on since."""
    said = None if query.start is None else str(query.start)
    place.save(_RECORD, {"said": said, "starts": starts, "begun": starts if begun is None else begun})


def kept_starts(folder: Path, begun: bool = False) -> dict[str, Bound]:
    """Where the query that has a folder began to read, or has `begun` as a query, as far as that was written down."""
    known = QueryPlace(folder, "", fresh=False).load(_RECORD)
    found = known.get("begun", known.get("starts", {})) if begun else known.get("starts", {})
    return {name: Bound(*bound) for name, bound in found.items()}


def keep_complete(place: QueryPlace, complete: int | None) -> None:
    """Write down from which time on the answers of a query are complete; None: all that it gives is."""
    place.save(_COMPLETE, {"from": complete})


def when_complete(folder: Path) -> int | None:
    """From which time on the answers of the query that has a folder are complete, if some before are left out.

    Unless it was altered, that is where it began in its histories.
    """
    known = QueryPlace(folder, "", fresh=False).load(_COMPLETE)
    if known:
        return None if known["from"] is None else int(known["from"])
    return max((start.whole for start in kept_starts(folder).values() if start.whole is not None), default=None)


def _words(said: str | None) -> str:
    return "with the earliest row" if said is None else f"at {said}"
