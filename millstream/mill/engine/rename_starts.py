"""A kept stream has another name: so it has where queries and hosts began in its history."""

from __future__ import annotations

from millstream.connectors.places.query_place import QueryPlace
from millstream.mill.home.home import HOSTS, QUERIES, Home

STARTS = "starts"


def rename_starts(home: Home, old: str, new: str) -> None:
    """Let all queries and hosts, running or not, have begun in the history of the new name."""
    was, is_ = old.lower(), new.lower()
    for file in (*home.root.glob(f"{QUERIES}/*/{STARTS}.json"), *home.root.glob(f"{HOSTS}/*/*/{STARTS}.json")):
        place = QueryPlace(file.parent, "", fresh=False)
        known = place.load(STARTS)
        starts = known.get("starts", {})
        if was in starts and was != is_:
            place.save(STARTS, {**known, "starts": {is_ if name == was else name: b for name, b in starts.items()}})
