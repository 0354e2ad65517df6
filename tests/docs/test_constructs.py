"""Each construct of docs/language.md that works has a query in a file, or a test elsewhere: works.txt says where.

Below each row of the page stand the files that have it, and a pattern of what is in them. Queries in files are run in
every way by tests/queries.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (.+?) \| (.+?) \|$", re.MULTILINE)


def stated() -> dict[str, str]:
    """The constructs of the page, and the state of each."""
    page = (ROOT / "docs/language.md").read_text()
    table = page.partition("\n## The state of the language\n")[2].partition("\n## ")[0]
    return dict(ROW.findall(table.partition("| --- | --- |\n")[2]))


def listed() -> dict[str, list[tuple[str, str]]]:
    """The constructs of the list, with the files that have them, and how."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in Path(__file__).with_name("works.txt").read_text().splitlines():
        if line.startswith(" "):
            file, _, pattern = line.strip().partition(": ")
            found[list(found)[-1]].append((file, pattern))
        else:
            assert line not in found, f"{line} is there twice"
            found[line] = []
    return found


def test_each_construct_that_works_is_listed() -> None:
    working = [construct for construct, state in stated().items() if not state.startswith("not yet")]
    assert len(working) > 30
    assert sorted(listed()) == sorted(working)


def test_each_has_a_query_or_a_test() -> None:
    wrong = []
    for construct, places in listed().items():
        if not places:
            wrong.append(f"{construct} has no query and no test")
        for file, pattern in places:
            path = ROOT / "tests" / file
            if not path.exists():
                wrong.append(f"{construct}: there is no tests/{file}")
            elif not re.search(pattern, path.read_text()):
                wrong.append(f"{construct}: nothing in tests/{file} is like {pattern}")
    assert not wrong, "\n".join(wrong)


def test_what_is_listed_is_run() -> None:
    """Files of queries, tests, and golden files of errors: nothing that only helps tests."""
    files = {file for places in listed().values() for file, _ in places}
    runs = re.compile(r"queries/(?!shared/)\w+/\w+\.esl|(\w+/)+test_\w+\.py|language/errors\.txt")
    assert [file for file in sorted(files) if not runs.fullmatch(file)] == []
