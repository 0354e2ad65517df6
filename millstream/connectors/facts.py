"""What physical plans ask about the places of files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from millstream.catalog.address import Address
from millstream.connectors.paths import absolute, is_local, is_parted, local_files
from millstream.connectors.registry import connector
from millstream.plan.physical.facts import Facts, Files


def facts_of(base: Path, arrow: bool = True) -> Facts:
    """The facts of this machine, where relative addresses start from a folder."""

    @cache
    def files(address: Address) -> Files:
        path = absolute(base, address.rest)
        if not connector(address).path or not is_local(path):
            return Files(local=False)
        return Files(True, is_parted(path), sum(file.stat().st_size for file in local_files(path)))

    return Facts(files, arrow)
