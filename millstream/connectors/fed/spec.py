"""`fed:`, the rows that are put into a stream; we make these addresses, users do not."""

from __future__ import annotations

from millstream.connectors.contract import Connector, Role
from millstream.connectors.shared_options import BATCH

SPEC = Connector(
    "fed",
    frozenset({Role.STREAM, Role.SINK}),
    "streams/s",
    source_options=BATCH,
    path=True,
    files=True,
    only_spark="",
    internal=True,
)
