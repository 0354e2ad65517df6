"""SUBSCRIBE on the command line: rows with their positions, as they come."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from millstream.store.batch_log import Subscription
from millstream.store.view_store import ViewSubscription

LOOK_SECONDS = 0.1


def print_rows(
    name: str,
    subscription: Subscription | ViewSubscription,
    show: Callable[[str, pa.Table], None],
    stops: Callable[[], bool],
) -> None:
    """Show what a subscription gives until its query has ended, or the user stops it."""
    while not stops():
        rows = subscription.take(LOOK_SECONDS)
        if rows is not None:
            show(name, subscription.add_positions(rows))
        elif subscription.ended:
            return
