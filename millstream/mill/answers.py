"""The answer to a statement: a message, a table, or a running query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from millstream.store.batch_log import Subscription
from millstream.store.view_store import ViewSubscription

if TYPE_CHECKING:
    from millstream.mill.engine.running import RunningQuery
    from millstream.mill.reports.analysis import Analysis


@dataclass(frozen=True)
class Answer:
    """The answer to one statement; `message` is always there, the others where they make sense."""

    message: str
    table: pa.Table | None = None
    query: RunningQuery | None = None
    text: str | None = None
    analysis: Analysis | None = None
    subscription: Subscription | ViewSubscription | None = None


def table_of(columns: list[str], rows: Sequence[tuple[object, ...]]) -> pa.Table:
    """A small table of strings."""
    data = {
        name: pa.array([None if r[i] is None else str(r[i]) for r in rows], pa.string())
        for i, name in enumerate(columns)
    }
    return pa.table(data)
