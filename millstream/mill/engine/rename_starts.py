"""A kept stream has another name: so it has where queries began in its history."""

from __future__ import annotations

from millstream.connectors.places.query_place import QueryPlace
from millstream.mill.home.home import QUERIES, Home

STARTS = "starts"


def rename_starts(home: Home, old: str, new: str) -> None:
    """Let all queries, running or not, have begun in the history of the new name."""
    was, is_ = old.lower(), new.lower()
    for file in (home.root / QUERIES).glob(f"*/{STARTS}.json"):
        place = QueryPlace(file.parent, "", fresh=False)
        known = place.load(STARTS)
        starts = known.get("starts", {})
        if was in starts and was != is_:
            place.save(STARTS, {**known, "starts": {is_ if name == was else name: b for name, b in starts.items()}})
