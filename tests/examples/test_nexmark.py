"""The scripts of examples/nexmark are sound; what they answer is tested beside the queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.catalog.catalog import Catalog
from millstream.language.binder import bind
from millstream.language.bound import Start
from millstream.language.parser import statements
from millstream.language.trial.dry_run import dry_run

FOLDER = Path(__file__).parents[2] / "examples" / "nexmark"
NAMES = sorted(path.stem for path in FOLDER.glob("*.esl"))


@pytest.mark.parametrize("name", NAMES)
def test_scripts_bind_without_a_warning(name: str) -> None:
    catalog, warnings, queries = Catalog(), [], []
    for statement in statements((FOLDER / f"{name}.esl").read_text()):
        bound = bind(statement, catalog)
        dry_run(bound, catalog)
        warnings += getattr(bound, "warnings", ())
        if isinstance(bound, Start):
            queries.append(bound.query.name)
    assert (queries, warnings) == ([name], [])


def test_every_script_is_in_the_readme() -> None:
    text = (FOLDER / "README.md").read_text()
    assert NAMES
    assert [name for name in NAMES if f"`{name}.esl`" not in text] == []
