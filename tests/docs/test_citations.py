"""What the code cites is in the bibliography, and what stands there is cited."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = ("millstream", "benchmarks", "examples", "tests")
CITED = re.compile(r"\[((?:[A-Z][a-z]+ (?:19|20)\d\d)|RFC \d+)(?:, [^]\n]*(?:\n[^]\n]*)?)?\]")
UNKEYED = re.compile(r"\b(?:[Tt]hesis|EPIC|Stream Mill)\b")


def files() -> Iterator[tuple[Path, str]]:
    for folder in CODE:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in {".py", ".esl"} and file != Path(__file__) and "out" not in file.parts:
                yield file, file.read_text(encoding="utf-8")


def bibliography() -> set[str]:
    page = (ROOT / "docs/bibliography.md").read_text(encoding="utf-8")
    return set(re.findall(r"^## ((?:[A-Z][a-z]+ \d{4})|RFC \d+)$", page, re.MULTILINE))


def test_everything_cited_is_in_the_bibliography_and_everything_there_is_cited() -> None:
    cited = {key: file for file, text in files() for key in CITED.findall(text)}
    assert not {key: str(file) for key, file in cited.items() if key not in bibliography()}
    assert bibliography() <= set(cited)


def test_papers_are_cited_by_their_keys() -> None:
    found = [f"{file.relative_to(ROOT)}: {m[0]}" for file, text in files() for m in UNKEYED.finditer(text)]
    assert not found


def test_equations_stand_where_their_source_is_cited() -> None:
    assert not [str(file) for file, text in files() if re.search(r"\bEq\. \d", text) and "[Li 2008" not in text]
