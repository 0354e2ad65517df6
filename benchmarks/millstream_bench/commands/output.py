"""How sub-commands tell what they found: as lines of JSON, or as a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table

Found = Mapping[str, Any]
"""What was found at one point, in JSON's terms."""


def print_json(found: Found) -> None:
    """One line, at once: a long run tells each point when it has it."""
    print(json.dumps(found), flush=True)


def print_points(found: Sequence[Found], columns: Sequence[str]) -> None:
    """A table with a row for each point, and these figures of it."""
    print_table(columns, [[point[name] for name in columns] for point in found])


def print_table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table of numbers and names."""
    view = Table(*map(_cell, heads))
    for row in rows:
        view.add_row(*map(_cell, row))
    show(view)


def show(view: RenderableType) -> None:
    """Print without colours of its own."""
    Console(highlight=False).print(view)


def _cell(value: object) -> str:
    match value:
        case None:
            return "-"
        case list():
            return ", ".join(map(str, value))
        case int() | float():
            return f"{value:,}"
    return str(value).replace("_", " ")
