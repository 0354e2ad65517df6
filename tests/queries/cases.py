"""Cases: each a file of ESL that holds a query, its input, and what the query must give. README.md shows one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from millstream.errors import MillstreamError
from millstream.language.parse.statements import Statement
from millstream.language.parser import parse
from tests.queries.inputs import Input

HERE = Path(__file__).parent
WAYS = ("whole", "shuffled", "resumed", "stored", "killed")
_BLOCK = re.compile(r"/\*\s*(stream|table|duckdb|rows)\b(.*?)\*/", re.DOTALL)
_SORTED = re.compile(r"(\w+)( DESC)?")


@dataclass(frozen=True)
class Case:
    """A query, and what it must give: the rows of a SELECT in DuckDB, or `rows` as CSV or JSON.

    `skipped` holds the ways in which it is not run, each with the reason. `sorted_by` is the column whose order the
    rows have, and whether it is a descending one. So many tuples are `late`.
    """

    path: Path
    title: str
    definitions: tuple[str, ...]
    select: str
    inputs: tuple[Input, ...]
    duckdb: str | None = None
    rows: str | None = None
    skipped: dict[str, str] = field(default_factory=dict, hash=False)
    killed: bool = False
    sorted_by: tuple[str, bool] | None = None
    late: int = 0

    @property
    def name(self) -> str:
        """The file without its ending, as seen from the folder of the cases."""
        return self.path.relative_to(HERE).with_suffix("").as_posix()

    @property
    def query(self) -> str:
        """The name that its query bears, and its sink."""
        return re.sub(r"\W", "_", self.name)

    @property
    def streams(self) -> tuple[Input, ...]:
        """The inputs that are streams."""
        return tuple(one for one in self.inputs if one.is_stream)

    @property
    def declared(self) -> dict[str, str]:
        """What it names in the catalog, and how: two cases share a mill if they mean the same by the same names."""
        own = {str(getattr(parse(text)[0], "name", text)).lower(): text for text in self.definitions}
        return {**{one.name.lower(): one.declaration + one.text for one in self.inputs}, **own}

    def runs(self, way: str) -> bool:
        """Whether it is run in a way. Without a stream there is only one, and few are killed."""
        if not self.streams and way != "stored":
            return False
        return way not in self.skipped and (way != "killed" or self.killed)


@cache
def all_cases() -> tuple[Case, ...]:
    """The cases of all folders, or those that the variable QUERIES names, as in QUERIES='windows/* over/ties'."""
    wanted = [name.removesuffix(".esl") for name in os.environ.get("QUERIES", "**/*").split()]
    paths = {path for name in wanted for path in HERE.glob(f"{name}.esl")}
    return tuple(read_case(path) for path in sorted(paths) if HERE / "shared" not in path.parents)


def read_case(path: Path) -> Case:
    """The case in a file; a mistake in it is told with the name of the file."""
    try:
        return _case(path, path.read_text(encoding="utf-8"))
    except (ValueError, MillstreamError) as problem:
        raise ValueError(f"{path.relative_to(HERE)}: {problem}") from problem


def _case(path: Path, text: str) -> Case:
    blocks = [(kind, body.strip()) for kind, body in _BLOCK.findall(text)]
    esl = _BLOCK.sub("", text)
    head = [line.removeprefix("--").strip() for line in _head(esl)]
    if not head:
        raise ValueError("the first line must say in a comment what the query shows")
    options = _options(head[1:])
    statements = parse(esl)
    if not statements:
        raise ValueError("there is no query")
    inputs = [one for name in options.pop("input", []) for one in shared_inputs(str(name))]
    inputs += [Input.of(kind, body) for kind, body in blocks if kind in {"stream", "table"}]
    answers = {kind: body for kind, body in blocks if kind in {"duckdb", "rows"}}
    if len(answers) != 1:  # an empty /* duckdb */ is one
        raise ValueError("there must be one block of /* duckdb */ or of /* rows */ that says what the query gives")
    *definitions, select = (_text(statement) for statement in statements)
    return Case(path, head[0], tuple(definitions), select, tuple(inputs), **answers, **options)  # type: ignore[arg-type]


def _head(esl: str) -> Iterator[str]:
    for line in esl.splitlines():
        if not line.startswith("--"):
            return
        yield line


def _options(lines: list[str]) -> dict[str, list[str] | dict[str, str] | tuple[str, bool] | int | bool]:
    options: dict[str, list[str] | dict[str, str] | tuple[str, bool] | int | bool] = {}
    skipped: dict[str, str] = {}
    for line in lines:
        word, _, rest = line.partition(": ")
        if word == "input":
            options["input"] = rest.split(", ")
        elif word.startswith("skip ") and rest:
            skipped |= dict.fromkeys(word.removeprefix("skip ").split(", "), rest)
        elif line == "also killed":
            options["killed"] = True
        elif word == "late" and rest.isdigit():
            options["late"] = int(rest)
        elif word == "sorted by" and (column := _SORTED.fullmatch(rest)):
            options["sorted_by"] = column[1], bool(column[2])
        else:
            raise ValueError(
                f"'{line}' is no option: there are input: NAMES, skip WAYS: REASON, also killed, sorted by: COLUMN, "
                "late: NUMBER"
            )
    if unknown := skipped.keys() - set(WAYS):
        raise ValueError(f"there is no way {', '.join(unknown)}: there are {', '.join(WAYS)}")
    return {**options, "skipped": skipped}


@cache
def shared_inputs(name: str) -> tuple[Input, ...]:
    """The inputs in a file that many cases read."""
    path = HERE / "shared" / f"{name}.esl"
    if not path.exists():
        raise ValueError(f"there is no input {name}: there are {', '.join(p.stem for p in path.parent.glob('*.esl'))}")
    return tuple(Input.of(kind, body.strip()) for kind, body in _BLOCK.findall(path.read_text(encoding="utf-8")))


def _text(statement: Statement) -> str:
    return statement.own_text.rstrip().removesuffix(";")


def share(cases: list[Case]) -> list[list[Case]]:
    """The cases of each mill: as few mills as there can be, so that no name means two things in one of them."""
    mills: list[tuple[dict[str, str], list[Case]]] = []
    for case in cases:
        mine = case.declared
        for known, those in mills:
            if all(known.get(name, text) == text for name, text in mine.items()):
                known.update(mine)
                those.append(case)
                break
        else:
            mills.append((dict(mine), [case]))
    return [those for _, those in mills]
