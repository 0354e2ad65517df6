"""`console:`, the terminal, or whoever shows the rows of this process."""

from __future__ import annotations

from millstream.connectors.contract import Connector, Role

SPEC = Connector("console", frozenset({Role.SINK}))
