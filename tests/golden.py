"""Golden files: cases as text, each with what it must give. `UPDATE_GOLDEN=1 make test-fast` writes them anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

RULE = "-" * 8
END = "=" * 8


@dataclass(frozen=True)
class Case:
    """One case: a name, an input and the output it must give."""

    name: str
    given: str
    expected: str


def read(path: Path) -> list[Case]:
    """The cases of a golden file."""
    cases = []
    for block in path.read_text().split(f"{END}\n"):
        if not block.strip():
            continue
        head, _, rest = block.partition("\n")
        given, _, expected = rest.partition(f"{RULE}\n")
        cases.append(Case(head.removeprefix("# ").strip(), given.strip("\n"), expected.strip("\n")))
    return cases


def check(path: Path, produce: Callable[[str], str]) -> None:
    """Every case gives what the file says; all differences are told at once."""
    cases = read(path)
    results = [(c, produce(c.given)) for c in cases]
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text("".join(f"# {c.name}\n{c.given}\n{RULE}\n{got}\n{END}\n" for c, got in results))
        return
    wrong = [f"{c.name}\nexpected:\n{c.expected}\ngot:\n{got}" for c, got in results if got != c.expected]
    assert not wrong, "\n\n".join(wrong)
