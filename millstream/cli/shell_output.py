"""The output of the shell: rows and tables, texts, and messages apart from them."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, cast

from millstream.cli.above_prompt import AbovePrompt

if TYPE_CHECKING:
    import pyarrow as pa

    from millstream.language.bound import Bound
    from millstream.mill import Answer


class ShellOutput:
    """A standard output for rows, and one for messages; `failed` once a complaint was among these."""

    def __init__(self, *, as_json: bool = False, out: IO[str] | None = None, err: IO[str] | None = None) -> None:
        from rich.console import Console

        from millstream.cli.rows import RowPrinter

        self.as_json = as_json
        self.failed = False
        self.above_prompt = AbovePrompt(out or sys.stdout)
        file = cast("IO[str]", self.above_prompt)
        self._console = Console(file=file, highlight=False)
        # Messages and rows share a terminal, but must not be mixed where rows go to a program.
        apart = not self._console.is_terminal
        self._messages = Console(file=err or (sys.stderr if apart else file), highlight=False)
        self._tables = RowPrinter(out=file, console=self._console)
        self._objects = RowPrinter(as_json=True, out=file, console=self._console)

    def show_rows(self, name: str, table: pa.Table) -> None:
        """Show rows of a running query; called from Spark's threads."""
        (self._objects if self.as_json else self._tables).show(name, table)

    def show_table(self, headline: str, table: pa.Table, count: str = "") -> None:
        """Show a whole table. It is complete in itself, so that its header is always written."""
        from millstream.cli.rows import RowPrinter

        file = cast("IO[str]", self.above_prompt)
        printer = RowPrinter(as_json=self.as_json, out=file, console=self._console)
        if self.as_json or not self._console.is_terminal:
            printer.table(headline or count, table)
            return
        if headline:
            self.write(headline)
        if table.num_rows:
            printer.show("", table)
        if count:
            self.say(count)

    def show_answer(self, statement: Bound, answer: Answer) -> None:
        """Show what a statement answers."""
        from millstream.language.bound import Description

        if answer.table is not None:
            if isinstance(statement, Description):
                self.show_table(answer.message, answer.table)
            else:
                self.show_table("", answer.table, count=answer.message)
        elif answer.text is not None:
            self.write(answer.text)
        else:
            self.say(answer.message)

    def write(self, text: str) -> None:
        """Write an answer that is plain text."""
        self._tables.write(text)

    def say(self, message: str) -> None:
        """Tell what was done."""
        self._messages.print(message, style="dim", markup=False, soft_wrap=True)

    def complain(self, message: str) -> None:
        """Tell what went wrong."""
        self.failed = True
        self._messages.print(message, style="red", markup=False, soft_wrap=True)
