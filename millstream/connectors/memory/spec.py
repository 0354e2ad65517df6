"""`memory:`, rows kept in this process."""

from __future__ import annotations

from millstream.connectors.contract import Connector, Role

SPEC = Connector("memory", frozenset({Role.SINK}), kept=True)
