"""Every mistake is told by clause, place and way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.errors import EslError
from millstream.language.binder import bind
from millstream.language.parser import statements
from millstream.language.trial.dry_run import dry_run
from tests import golden
from tests.language.auctions import catalog

FILES = tuple(Path(__file__).with_name(name) for name in ("errors.txt", "words.txt"))


def mistake(text: str) -> str:
    made = catalog()
    try:
        for statement in statements(text):
            dry_run(bind(statement, made), made)
    except EslError as problem:
        return f"{type(problem).__name__}\n{problem}"
    return "no error"


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_error_texts(file: Path) -> None:
    golden.check(file, mistake)


@pytest.mark.parametrize("case", [case for file in FILES for case in golden.read(file)], ids=lambda c: c.name)
def test_every_error_names_its_clause_and_points(case: golden.Case) -> None:
    _, head, *rest = mistake(case.given).splitlines()
    assert head.startswith("error in "), head
    assert any("^" in line for line in rest), "no caret"
    assert rest[-1].startswith("help: "), "no way out"
