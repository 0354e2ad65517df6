"""The facts about files that physical plans ask for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from millstream.catalog.address import Address
from millstream.connectors.places.paths import absolute, is_local, is_parted, local_files
from millstream.connectors.registry import connector
from millstream.plan.physical.facts import Facts, Files
from millstream.store.versions import VERSIONS

TASKS = "spark.sql.shuffle.partitions"
"""Spark's setting for how many tasks a stage has."""


def local_tasks() -> int:
    """How many tasks a stage has on this machine: one per core."""
    return os.cpu_count() or 2


def expected_tasks(master: str | None, conf: Mapping[str, str]) -> int | None:
    """How many tasks a stage will have in a Spark that is still to start; of a cluster that is not known.

    >>> expected_tasks("spark://host:7077", {}), expected_tasks("local[2]", {TASKS: "8"})
    (None, 8)
    """
    if (tasks := conf.get(TASKS, "")).isdigit():
        return int(tasks)
    return local_tasks() if (master or "local").startswith("local") else None


def facts_of(base: Path, arrow: bool = True) -> Facts:
    """The facts of this machine, where relative addresses start from a folder."""

    @cache
    def files(address: Address) -> Files:
        # Views have no place: they grow while queries read them.
        if connector(address).versions and address.rest:
            return Files(True, False, _stored_bytes(Path(address.rest)))
        path = absolute(Path(address.base or base), address.rest)
        if not connector(address).path or not is_local(path):
            return Files(local=False)
        return Files(True, is_parted(path), sum(file.stat().st_size for file in local_files(path)))

    return Facts(files, arrow)


def _stored_bytes(folder: Path) -> int:
    """The bytes of the newest version of a stored table."""
    newest = max(folder.glob(VERSIONS), default=None)
    return 0 if newest is None else sum(file.stat().st_size for file in newest.iterdir())
