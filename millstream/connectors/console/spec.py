"""`console:`, the terminal."""

from __future__ import annotations

from millstream.connectors.contract import Connector, Role

SPEC = Connector("console", frozenset({Role.SINK}))
