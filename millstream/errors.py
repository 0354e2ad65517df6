"""What can go wrong, one class per kind of mistake; every message names the place and offers a way out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MillstreamError(Exception):
    """The root of every error that Millstream raises on purpose."""


class RunError(MillstreamError):
    """A query, a source or a sink failed while it ran."""


class SettingError(MillstreamError):
    """A setting, an option or an argument that cannot be used."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}: {hint}" if hint else message)
        self.message = message
        self.hint = hint


_WIDEST = 400
"""So much of a line is shown at most."""

_SEE_PAGE = "docs/language.md shows what can stand here"


class EslError(MillstreamError):
    """A mistake in an ESL text. It knows the clause, the span of the text, and how to mend it.

    >>> print(UnknownName("no column 'prize'", "SELECT prize FROM s", (7, 12), clause="SELECT", hint="use 'price'"))
    error in SELECT: no column 'prize'
      1 | SELECT prize FROM s
        |        ^^^^^
    help: use 'price'
    """

    def __init__(
        self, message: str, text: str = "", span: tuple[int, int] | None = None, *, clause: str = "", hint: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.text = text
        self.span = balanced(text, span) if span else None
        self.clause = clause
        self.hint = hint

    @property
    def line(self) -> int | None:
        """The line of the text, counted from 1, where the mistake begins."""
        return None if self.span is None else self.text.count("\n", 0, self.span[0]) + 1

    @property
    def column(self) -> int | None:
        """The column, counted from 1, where the mistake begins."""
        return None if self.span is None else self.span[0] - self.text.rfind("\n", 0, self.span[0])

    def __str__(self) -> str:
        head = f"error in {self.clause}: {self.message}" if self.clause else f"error: {self.message}"
        return "\n".join([head, *self._excerpt(), f"help: {self.hint or _SEE_PAGE}"])

    def _excerpt(self) -> list[str]:
        line, column = self.line, self.column
        if self.span is None or line is None or column is None or not self.text:
            return []
        row = self.text.splitlines()[line - 1] if self.text.splitlines()[line - 1 :] else ""
        if len(row) > _WIDEST:  # as of a statement that a program has written
            begin = max(0, min(column - 1 - _WIDEST // 2, len(row) - _WIDEST))
            before, after = "... " if begin else "", " ..." if begin + _WIDEST < len(row) else ""
            row, column = f"{before}{row[begin : begin + _WIDEST]}{after}", column - begin + len(before)
        width = max(1, min(self.span[1] - self.span[0], len(row) - column + 1))
        gutter = " " * (2 + len(str(line)))
        # A tab before the caret must stay a tab, or the caret stands in the wrong place.
        lead = "".join(c if c == "\t" else " " for c in row[: column - 1])
        return [f"  {line} | {row}", f"{gutter} | {lead}{'^' * width}"]


class EslSyntaxError(EslError):
    """The text is not a statement of the language."""


class UnknownName(EslError):
    """A stream, table, sink, query, column, function or setting that does not exist."""


class NameTaken(EslError):
    """A name that is given away twice, or dropped while others still use it."""


class TypeMismatch(EslError):
    """An expression whose types do not fit."""


class Refused(EslError):
    """A construct that would block for ever or need unbounded state on a stream."""


class NotYet(EslError):
    """A construct that the language knows and the system cannot run yet."""


def balanced(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """The span, longer by the closing brackets that belong to it: parsers remember a call without its end.

    >>> text = "SELECT f(g(x)) FROM s"
    >>> text[slice(*balanced(text, (7, 12)))]
    'f(g(x))'
    """
    start, end = span
    while text[start:end].count("(") > text[start:end].count(")") and ")" in text[end:]:
        end = text.index(")", end) + 1
    return start, end


def suggest(name: str, known: Iterable[str], shown: int = 12) -> str:
    """The hint for a misspelt name, or what there is to choose from: so many of them are shown.

    >>> suggest("prize", ["item_id", "price"])
    "did you mean 'price'?"
    >>> suggest("zzz", ["item_id", "price"])
    'known: item_id, price'
    """
    names = list(known)
    lowered = {n.lower(): n for n in names}
    close = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.7)
    if close:
        return f"did you mean '{lowered[close[0]]}'?"
    listed = ", ".join(names[:shown]) + (", ..." if len(names) > shown else "")
    return f"known: {listed}" if names else ""
