"""`json:` files, read and written."""

from __future__ import annotations

from millstream.connectors.contract import Connector, Role
from millstream.connectors.shared_options import BATCH, FOLDER

SPEC = Connector(
    "json",
    frozenset(Role),
    "data/bids",
    source_options=BATCH,
    sink_options=FOLDER,
    path=True,
    files=True,
    only_spark="its files are JSON",
    file_endings=frozenset({".json", ".jsonl", ".ndjson"}),
)
