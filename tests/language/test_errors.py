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


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT {'(' * 2000}1{')' * 2000}",
        f"SELECT item_id FROM item WHERE {' OR '.join(['item_id = 1'] * 2000)}",
        f"SELECT {'+'.join(['1'] * 2000)}",
        f"DELETE FROM item WHERE {'NOT ' * 2000}TRUE",
        f"CREATE TABLE t (a {'ARRAY<' * 2000}INT{'>' * 2000})",
        f"SELECT * FROM {'(SELECT * FROM ' * 500}item{')' * 500}",
    ],
    ids=lambda text: text[:30],
)
def test_what_nests_too_deep_is_told(text: str) -> None:
    assert mistake(text).startswith("EslSyntaxError\nerror in statement: this statement has too many brackets"), text


@pytest.mark.parametrize("place", [0, 10_000, 19_999])
def test_a_long_line_is_shown_around_the_mistake(place: int) -> None:
    numbers = ["1"] * 20_000
    numbers[place] = "wrong"
    told = mistake(f"SELECT item_id FROM item WHERE item_id IN ({', '.join(numbers)})").splitlines()
    assert all(len(line) < 500 for line in told), told
    row, carets = told[2].partition("| ")[2], told[3].partition("| ")[2]
    assert row[carets.index("^") : carets.rindex("^") + 1] == "wrong"


def test_a_mark_of_an_editor_at_the_begin_is_passed_over() -> None:
    assert mistake("\ufeffSELECT 1 AS one") == "no error"


def test_fields_of_structs_have_any_names() -> None:
    text = "CREATE TABLE t (a STRUCT<__x: INT, __y: INT>); SELECT a.__x, a.__y FROM t WHERE a.__y = 3"
    assert mistake(text) == "no error"


def test_half_a_character_is_told() -> None:
    assert "half a character" in mistake("SELECT '\ud800'")


@pytest.mark.parametrize("name", ["z" * 3000, "größe", "a\nb", "../x", "select", "a.b"], ids=lambda name: name[:8])
def test_names_of_any_kind_are_names(name: str) -> None:
    assert mistake(f'CREATE TABLE "{name}" ("{name}" INT); INSERT INTO "{name}" VALUES (1)') == "no error"


@pytest.mark.parametrize("case", [case for file in FILES for case in golden.read(file)], ids=lambda c: c.name)
def test_every_error_names_its_clause_and_points(case: golden.Case) -> None:
    _, head, *rest = mistake(case.given).splitlines()
    assert head.startswith("error in "), head
    assert any("^" in line for line in rest), "no caret"
    assert rest[-1].startswith("help: "), "no way out"
