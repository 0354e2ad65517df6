"""Small pieces of Python text that know how tightly they bind, and names that are safe in it."""

from __future__ import annotations

import builtins
import io
import keyword
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass

ATOM, PRODUCT, SUM, COMPARISON, NEGATION, CONJUNCTION, DISJUNCTION, CHOICE = range(8)
"""How tightly an expression binds, the tightest first."""


@dataclass(frozen=True)
class Code:
    """An expression of Python."""

    text: str
    level: int = ATOM

    def within(self, level: int) -> str:
        """The text, in brackets if it binds less tightly than it must."""
        return self.text if self.level <= level else f"({self.text})"


def joined(parts: list[Code], word: str, level: int) -> Code:
    """Conditions joined by `and` or by `or`."""
    if len(parts) == 1:
        return parts[0]
    return Code(f" {word} ".join(p.within(level - 1) for p in parts), level)


def listed(parts: Iterable[str]) -> str:
    """A tuple."""
    texts = list(parts)
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


WIDTH = 100
"""How long a line of generated code may be before it is broken."""


def wrapped(line: str) -> list[str]:
    r"""A statement in several lines if it is long: a comprehension is broken before its loops and its condition.

    >>> print("\n".join(wrapped(f"x = [(row, {'a' * 60}) for row in self.table.rows() if row[0] == row[1]]")))
    x = [(row, aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)
        for row in self.table.rows()
        if row[0] == row[1]]
    """
    try:
        words = _loop_words(line) if len(line) > WIDTH else []
    except tokenize.TokenError:  # nested too deeply: whoever compiles it will say so
        words = []
    if not words:
        return [line]
    depth = min(d for _, d in words)
    starts = [0, *(at for at, d in words if d == depth)]
    parts = [line[a:b].rstrip() for a, b in zip(starts, [*starts[1:], len(line)], strict=True)]
    return [parts[0], *(f"    {part}" for part in parts[1:])]


def _loop_words(line: str) -> list[tuple[int, int]]:
    """Where the words of comprehensions stand, and how deep in brackets; `if` only after a `for` of the same depth."""
    found: list[tuple[int, int]] = []
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(line.strip()).readline):
        depth += (token.string in {"(", "["}) - (token.string in {")", "]"}) if token.type == tokenize.OP else 0
        loops = any(d == depth for _, d in found)
        if token.type == tokenize.NAME and (token.string == "for" or (token.string == "if" and loops)):
            found.append((token.start[1] + len(line) - len(line.lstrip()), depth))
    return found


class Namer:
    """Gives out names that are identifiers of Python, each once, as close to the wanted ones as can be.

    >>> namer = Namer(["result"])
    >>> [namer.name(n) for n in ("price", "Price", "next", "result", "a b", "class", "9", "é", "__x__")]
    ['price', 'price_2', 'next_', 'result_', 'a_b', 'class_', 'v9', 'v', 'x']
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*taken, *dir(builtins), *keyword.kwlist, *keyword.softkwlist}

    def name(self, wanted: str) -> str:
        """A name that is not taken yet."""
        plain = re.sub(r"[^a-z0-9_]", "_", wanted.lower()).strip("_") or "v"
        plain = f"v{plain}" if plain[0].isdigit() else plain
        found, number = plain, 1
        while found in self._taken:
            number += 1
            found = f"{plain}_" if number == 2 and plain in _RESERVED else f"{plain}_{number}"
        self._taken.add(found)
        return found

    def reserve(self, names: Iterable[str]) -> None:
        """Take names out."""
        self._taken.update(names)


_RESERVED = {*dir(builtins), *keyword.kwlist, *keyword.softkwlist, "result"}
