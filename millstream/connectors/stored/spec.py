"""`stored:`, the rows of a table or a view in the home; we make these addresses, users do not."""

from __future__ import annotations

from millstream.connectors.contract import Connector, Role

SPEC = Connector("stored", frozenset({Role.TABLE}), "tables/items", internal=True, versions=True)
