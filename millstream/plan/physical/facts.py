"""The facts that a physical plan depends on besides the query: the places of its files, and settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from millstream.catalog.address import Address


@dataclass(frozen=True)
class Files:
    """The files of an address: whether they are on this machine, in folders named as `day=7`, and their bytes."""

    local: bool = True
    parted: bool = False
    size: int = 0


def _nearby(address: Address) -> Files:
    return Files()


@dataclass(frozen=True)
class Facts:
    """What the place is like in which a query is to run.

    `arrow`: whether stages may read files by themselves. `tasks` are those that Spark gives a stage, None where nobody
    knows yet. `set_buckets` and `kept_buckets` are the numbers of buckets that are set, and that its checkpoint has.
    """

    files: Callable[[Address], Files] = _nearby
    arrow: bool = True
    tasks: int | None = None
    set_buckets: int | None = None
    kept_buckets: int | None = None
