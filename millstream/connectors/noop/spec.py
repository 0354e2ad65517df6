"""`noop:`, rows are computed, and nobody keeps them."""

from __future__ import annotations

from millstream.connectors.contract import Connector, Role

SPEC = Connector("noop", frozenset({Role.SINK}))
