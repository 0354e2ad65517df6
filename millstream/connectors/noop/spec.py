"""`noop:`, rows are computed and discarded."""

from __future__ import annotations

from millstream.connectors.contract import Connector, Role

SPEC = Connector("noop", frozenset({Role.SINK}))
