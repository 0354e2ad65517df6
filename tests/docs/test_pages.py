"""The pages are true: commands run as written, ESL binds, what is not yet says so, links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from millstream.aggregates import registry
from millstream.catalog.catalog import Catalog
from millstream.catalog.settings import SETTINGS
from millstream.connectors.registry import CONNECTORS
from millstream.errors import NotYet, Refused
from millstream.language.binder import bind
from millstream.language.parser import statements
from millstream.language.trial.dry_run import dry_run
from millstream.language.types.functions import FORBIDDEN

ROOT = Path(__file__).parents[2]
NAMES = (
    "quickstart",
    "language",
    "architecture",
    "operations",
    "catalog",
    "history",
    "sharing",
    "benchmarks",
    "soccer",
    "glossary",
    "bibliography",
)
PAGES = ("README.md", "CONTRIBUTING.md", *(f"docs/{name}.md" for name in NAMES))
WORD_LIMITS = {"README.md": 500, "docs/quickstart.md": 449, "docs/architecture.md": 2850, "docs/operations.md": 1100}
REFUSALS: dict[str, type[Exception]] = {"sql not-yet": NotYet, "sql refused": Refused}
INFOS = {"sh", "sql", "python", "text", *REFUSALS}

FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEREDOC = re.compile(r"^cat > \S+\.esl <<'EOF'\n(.*?)^EOF$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SAVED_AS = re.compile(r"-- (\S+\.esl)\n")
# Not run here: they would set up, or run these tests again.
SET_UP = re.compile(r"^(?:make\b|\. \.venv/bin/activate).*$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: the words after the fence, and what is in it."""

    info: str
    text: str


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str) -> list[Block]:
    return [Block(info.strip(), text) for info, text in FENCE.findall(page(name))]


def esl(block: Block) -> Iterator[str]:
    """The ESL of a block that must bind."""
    if block.info == "sql":
        yield block.text
    elif block.info == "sh":
        yield from HEREDOC.findall(block.text)


def learn(text: str, catalog: Catalog) -> None:
    for statement in statements(text):
        dry_run(bind(statement, catalog), catalog)


def anchors(text: str) -> set[str]:
    """The places within a page that a link can name."""
    heads = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("name", PAGES)
def test_fences_are_closed_and_of_a_known_kind(name: str) -> None:
    assert page(name).count("```") == 2 * len(blocks(name))
    assert {block.info for block in blocks(name)} <= INFOS


@pytest.mark.parametrize("name", PAGES)
def test_esl_binds_and_what_is_not_yet_says_so(name: str) -> None:
    """Each page builds its own catalog as it goes, from nothing."""
    catalog = Catalog()
    for block in blocks(name):
        for text in esl(block):
            learn(text, catalog)
        if expected := REFUSALS.get(block.info):
            for statement in block.text.split("\n\n"):
                try:
                    learn(statement, catalog)
                except expected:
                    continue
                pytest.fail(f"no {expected.__name__}: {statement}")


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    text = page(name)
    for link in LINK.findall(FENCE.sub("", text)):
        path, _, anchor = link.partition("#")
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), f"{name} links to {link}"
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), f"{name} links to {link}"


@pytest.mark.parametrize(("name", "limit"), WORD_LIMITS.items())
def test_pages_stay_short(name: str, limit: int) -> None:
    assert len(page(name).split()) <= limit


def test_the_picture_is_there() -> None:
    picture = re.search(r"!\[[^]]+\]\((\S+\.svg)\)", page("README.md"))
    assert picture
    assert ET.parse(ROOT / picture[1]).getroot().tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize("name", PAGES)
def test_make_targets_exist(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", page("Makefile"), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", page(name), re.MULTILINE)) <= targets


def test_the_reference_names_every_option_setting_and_forbidden_function() -> None:
    known = {*SETTINGS, *FORBIDDEN}
    for kind, spec in CONNECTORS.items():
        if not spec.internal:
            known |= {f"{kind}:", *spec.source_options, *spec.sink_options}
    named = set(re.findall(r"`(\w+:?)[^`\n]*`", FENCE.sub("", page("docs/language.md"))))
    assert known <= named


def test_the_reference_names_every_aggregate() -> None:
    written_otherwise = {"count_star", *set(registry.DISTINCT.values()) - set(registry.DISTINCT)}
    named = set(re.findall(r"`(\w+)", page("docs/language.md")))
    assert {*registry.names(), *registry.ALIASES} - written_otherwise <= named


@pytest.mark.spark
@pytest.mark.parametrize("name", ["README.md", "docs/quickstart.md"])
def test_commands_and_programs_run_as_written(name: str, spark: object, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    output = ""
    for block in blocks(name):
        if block.info == "sql" and (saved := SAVED_AS.match(block.text)):
            (tmp_path / saved[1]).write_text(block.text)
        if block.info == "sh":
            output = run_commands(SET_UP.sub("", block.text), tmp_path)
        if block.info == "python":
            run_program(block.text, tmp_path)
        if block.info == "text":
            check_output(block.text, output)


def test_python_of_the_language_page_runs(tmp_path: Path) -> None:
    programs = [block.text for block in blocks("docs/language.md") if block.info == "python"]
    assert programs
    for program in programs:
        # In a process of its own: what it declares is known to the whole process.
        subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, stderr=subprocess.DEVNULL)


def run_commands(text: str, folder: Path) -> str:
    """Run a block in a shell that finds the commands of this environment; what it has written, both outputs."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["sh", "-euc", text],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def run_program(text: str, folder: Path) -> None:
    """Run a block of Python in this process, to spare a second start of Spark."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        exec(compile(text, "page", "exec"), {"__name__": "page"})
    finally:
        os.chdir(before)


def check_output(text: str, output: str) -> None:
    """Each line was written, in whatever order; three dots stand for anything."""
    for line in text.splitlines():
        pattern = "^" + re.escape(line).replace(r"\.\.\.", ".*") + "$"
        assert re.search(pattern, output, re.MULTILINE), f"{line!r} is not in\n{output}"
