"""The manner in which a query runs: the settings of its session, and who sees the rows that it shows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from millstream.catalog.settings import Settings
from millstream.mill.text import csv_text

Display = Callable[[str, pa.Table], None]
"""Shows the rows that a query sends to the terminal."""


@dataclass(frozen=True)
class Manner:
    """Settings, which are not changed any more, and a display. A query keeps those that it was started with."""

    settings: Settings
    display: Display


def print_rows(name: str, table: pa.Table) -> None:
    """Show rows as lines of CSV."""
    sys.stdout.write(csv_text(table))
    sys.stdout.flush()
