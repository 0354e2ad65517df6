"""The recipes of CONTRIBUTING.md are followed to the letter: their diffs make parts that keep the laws and that run."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "docs/recipes").glob("*.diff"))
LAWS: dict[str, tuple[str, list[str]]] = {
    "aggregate": ("bit_xor", ["tests/aggregates/test_laws.py", "tests/language/test_aggregate_calls.py"]),
    "connector": ("sqlite or every_folder", ["tests/connectors/test_kinds.py"]),
    "function": ("repeat", ["tests/expressions/test_functions.py"]),
    "pass": ("test_plans or test_passes", ["tests/plan/test_plans.py", "tests/plan/passes"]),
    "window": ("Shifts or every_kind", ["tests/windows"]),
}
QUERIES = re.compile(r"^\+\+\+ b/tests/queries/(\w+/\w+)\.esl", re.MULTILINE)
SCRIPT = """
CREATE STREAM s (id INT, v INT, at TIMESTAMP) ORDER BY at SOURCE 'json:in';
CREATE STREAM all_of_s AS SELECT id, v, at FROM s WHERE TRUE;
CREATE TABLE place (id BIGINT, name STRING) SOURCE 'sqlite:shop.db';
CREATE AGGREGATE stars (v INT) : STRING {
  TABLE state (s STRING);
  INITIALIZE: { INSERT INTO state VALUES (repeat('*', v)); }
  ITERATE: { UPDATE state SET s = concat(s, repeat('*', v)); }
  TERMINATE: { INSERT INTO RETURN SELECT s FROM state; }
};
CREATE SINK out TO 'sqlite:out.db';
INSERT INTO out
  SELECT window_start, p.name AS name, bit_xor(v) AS odd, stars(v) AS stars
  FROM SHIFTS(TABLE all_of_s, DESCRIPTOR(at), INTERVAL '16' HOURS, INTERVAL '8' HOURS) AS t
  JOIN place AS p ON p.id = t.id
  GROUP BY window_start, p.name;
"""
ROWS = [(1, 6, "06:00:00"), (1, 3, "15:59:59"), (2, 5, "16:00:00"), (3, 1, "17:00:00")]


def tree(folder: Path) -> Path:
    """A copy of what the recipes change."""
    for name in ("millstream", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def follow(recipe: Path, folder: Path) -> None:
    command = ["git", "apply", "-C1", str(recipe)]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert not told.returncode, f"docs/recipes/{recipe.name} does not fit the code any more:\n{told.stderr}"


def python(folder: Path, cwd: Path, *arguments: str, **variables: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder), **variables}
    command = [sys.executable, *arguments]
    told = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert not told.returncode, told.stdout + told.stderr
    return told.stdout


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with all recipes in it."""
    folder = tree(tmp_path_factory.mktemp("followed"))
    for recipe in RECIPES:
        follow(recipe, folder)
    return folder


def test_the_page_has_a_recipe_for_each_diff_and_says_every_file_it_touches() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    linked = re.findall(r"\]\(docs/recipes/(\w+)\.diff\)", page)
    assert sorted(linked) == [recipe.stem for recipe in RECIPES] == sorted(LAWS)
    parts = dict(re.findall(r"^## Add an? (?:\w+ )?(\w+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    for recipe in RECIPES:
        (part,) = (text for text in parts.values() if f"docs/recipes/{recipe.name}" in text)
        for file in re.findall(r"^\+\+\+ b/(\S+)", recipe.read_text(), re.MULTILINE):
            known = file if (ROOT / file).exists() else str(Path(file).parent)
            assert known in part or file in part, f"{recipe.name} touches {file}, and its recipe does not say so"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_each_recipe_fits_the_code_alone(recipe: Path, tmp_path: Path) -> None:
    follow(recipe, tree(tmp_path))


@pytest.mark.slow
def test_the_new_parts_keep_the_laws(followed: Path) -> None:
    """Each law is asked for by the name of the new part, so that one which does not find it fails here."""
    chosen = " or ".join(names for names, _ in LAWS.values())
    files = [file for _, files in LAWS.values() for file in files]
    told = python(followed, followed, "-m", "pytest", "-vv", "-m", "not spark", "-k", chosen, *files)
    for part in ("Shifts", "bit_xor", "sqlite", "test_plans", "repeat"):
        assert re.search(rf"{part}.*PASSED", told), f"no law was run for {part}"


def test_explain_knows_the_new_parts_without_spark(followed: Path, tmp_path: Path) -> None:
    (tmp_path / "script.esl").write_text(SCRIPT)
    told = python(followed, tmp_path, "-m", "millstream.cli.main", "explain", "script.esl")
    assert "SHIFTS day 16 hours, night 8 hours along at, panes of 8 hours" in told
    assert "BIT_XOR(v)" in told
    assert "from sqlite:shop.db" in told
    plan = told.partition("\n")[2]
    assert "Stream all_of_s" in plan
    assert "TRUE" not in plan


@pytest.mark.spark
def test_a_query_with_all_of_them_runs(followed: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as base, base:
        base.execute("CREATE TABLE place (id INT, name TEXT)")
        base.executemany("INSERT INTO place VALUES (?, ?)", [(1, "ann"), (2, "bob")])
    (tmp_path / "in").mkdir()
    lines = [f'{{"id": {id_}, "v": {v}, "at": "2026-01-01T{time}"}}\n' for id_, v, time in ROWS]
    (tmp_path / "in" / "rows.json").write_text("".join(lines))
    (tmp_path / "script.esl").write_text(SCRIPT)
    python(followed, tmp_path, "-m", "millstream.cli.main", "run", "script.esl", "--once")
    with closing(sqlite3.connect(tmp_path / "out.db")) as base:
        rows = base.execute("SELECT * FROM out ORDER BY window_start").fetchall()
    assert rows == [("2026-01-01T00:00:00", "ann", 5, "*" * 9), ("2026-01-01T16:00:00", "bob", 5, "*" * 5)]


@pytest.mark.spark
def test_the_queries_in_files_give_their_rows(followed: Path) -> None:
    """In every way, as those that are there already."""
    files = [file for recipe in RECIPES for file in QUERIES.findall(recipe.read_text())]
    assert len(files) == 2
    chosen = ["-m", "not fault", "tests/queries/test_queries.py"]
    told = python(followed, followed, "-m", "pytest", "-vv", *chosen, QUERIES=" ".join(files))
    for file in files:
        for way in ("whole", "resumed", "stored"):
            part = f"[{file.partition('/')[0]}-{way}]"
            assert f"{part} SUBPASSED[{file}]" in told, f"{file} was not run {way}:\n{told}"
            assert f"{part} PASSED" in told
