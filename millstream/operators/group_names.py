"""Errors in code of users, with the keys of the group in which they happened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa

from millstream.udas.python.errors import UserCodeError


@contextmanager
def naming_groups(keys: Mapping[str, pa.Array] | pa.Table, names: Sequence[str]) -> Iterator[None]:
    """Within it, a failure that knows the number of its group is told with the keys that it has there."""
    try:
        yield
    except UserCodeError as problem:
        if problem.group is None or not names:
            raise
        raise problem.of_group([keys[name][problem.group].as_py() for name in names]) from problem
