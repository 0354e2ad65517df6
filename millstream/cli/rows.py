"""Rows for people and programs: tables on a terminal, CSV in a pipe, JSON on demand."""

from __future__ import annotations

import json
import sys
import threading
from typing import IO

import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millstream.mill.text import cell, csv_text, plain
from millstream.mill.values import rows

TABLE_ROWS = 50
"""How many rows of one batch a terminal shows; the rest is counted."""


class RowPrinter:
    """Writes the rows of queries to standard output, batch by batch."""

    def __init__(self, *, as_json: bool = False, out: IO[str] | None = None, console: Console | None = None) -> None:
        self._out = out or sys.stdout
        self._json = as_json
        self._console = console or Console(file=self._out, highlight=False)
        self._headed: set[str] = set()
        self._lock = threading.Lock()

    def show(self, name: str, table: pa.Table) -> None:
        """Write one batch; `name` says whose rows they are."""
        with self._lock:
            if self._json:
                self._show_json(name, table)
            elif self._console.is_terminal:
                self._console.print(rich_table(name, table))
            else:
                self._show_csv(name, table)
            self._out.flush()

    def table(self, title: str, table: pa.Table) -> None:
        """Write a table that stands for itself, with its own header."""
        self._headed.discard(title)
        if self._json:
            with self._lock:
                self._show_json(None, table)
                self._out.flush()
        else:
            self.show(title, table)

    def write(self, text: str) -> None:
        """Write plain text."""
        with self._lock:
            self._out.write(text + "\n")
            self._out.flush()

    def _show_json(self, name: str | None, table: pa.Table) -> None:
        for row in rows(table):
            told = {"row": row} if name is None else {"query": name, "row": row}
            self._out.write(json.dumps(told, default=plain) + "\n")

    def _show_csv(self, name: str, table: pa.Table) -> None:
        self._out.write(csv_text(table, header=name not in self._headed))
        self._headed.add(name)


def rich_table(title: str, table: pa.Table, limit: int = TABLE_ROWS) -> Table:
    """A batch of rows as a table for the terminal."""
    more = table.num_rows - limit
    view = Table(
        title=title, title_justify="left", header_style="bold", caption=f"and {more:,} more rows" if more > 0 else None
    )
    for field in table.schema:
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type)
        view.add_column(field.name, justify="right" if number else "left", overflow="fold")
    for row in rows(table.slice(0, limit)):
        view.add_row(*[Text("NULL", style="dim") if v is None else Text(cell(v) or "") for v in row.values()])
    return view
