"""Views: a relation and its query, which are stored as two entries, and made and dropped together.

The entry of the view is there before that of its query, and goes after it: a view whose query is not stored was never
there, or is no more.
"""

from __future__ import annotations

from millstream.catalog.catalog import QUERY
from millstream.catalog.definitions import View
from millstream.mill.context import Context
from millstream.mill.engine.running import RunningQuery
from millstream.mill.manage.create_queries import announce_query, create_queries
from millstream.mill.manage.queries import drop_query
from millstream.mill.stored.definitions import Definitions

VIEW = "view"


def create_view(view: View, at: Context) -> RunningQuery:
    """Start the query of a view, from its checkpoint if there is one."""
    definitions = at.definitions
    before = definitions.entry(view)
    stored = definitions.store.put(definitions.entry_for(view, at.base))
    try:
        (running,) = create_queries([announce_query(view.query, at)], at.engine)
    except BaseException:
        if before is None:
            definitions.forget(stored)
        else:
            definitions.store.restore(before)
        raise
    definitions.show(view)
    return running


def drop_view(view: View, at: Context) -> None:
    """Stop the query of a view for good, and forget what the view holds."""
    drop_query(view.query, at)
    at.definitions.remove(view)


def forget_without_query(definitions: Definitions) -> None:
    """Complete the CREATE or the DROP of a view that was killed."""
    for entry in definitions.store.entries():
        if entry.kind == VIEW and definitions.store.find((QUERY, entry.key[1])) is None:
            definitions.forget(entry)
