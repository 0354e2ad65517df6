"""`memory:`, rows that this process keeps to be read."""

from __future__ import annotations

from millstream.connectors.contract import Connector, Role

SPEC = Connector("memory", frozenset({Role.SINK}))
