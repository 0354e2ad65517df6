"""`fed:`, the rows that are put into a stream; we make these addresses, users do not."""

from __future__ import annotations

from millstream.connectors.contract import Connector, Role

SPEC = Connector("fed", frozenset({Role.SINK}), "streams/s", internal=True)
