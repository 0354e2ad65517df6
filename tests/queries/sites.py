"""Sites: cases that share a mill, and a folder with their input."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from millstream.mill import Mill, RunningQuery, connect
from tests.queries.arrivals import Arrival, appear
from tests.queries.cases import Case, share
from tests.queries.oracle import Found

Outcomes = dict[str, Found | Exception]
"""What came of each case, by its name: what it gave, or why it failed."""

_STREAM = re.compile(r"^CREATE\s+STREAM\b", re.IGNORECASE)


@dataclass
class Site:
    """Cases that share a mill. What fails is noted beside the case, and stops no other."""

    cases: list[Case]
    folder: Path
    arrival: Arrival
    outcomes: Outcomes
    as_tables: bool = False
    _files: dict[str, list[Path]] = field(default_factory=dict)
    _mill: Mill | None = None
    _declared: set[str] = field(default_factory=set)

    def prepare(self) -> None:
        """Make the files of all inputs; those of streams appear later."""
        for one in {one.name.lower(): one for case in self.cases for one in case.inputs}.values():
            files = self.arrival.write(one, self.folder)
            if one.is_stream:
                self._files[one.name] = files
            else:
                appear(files)

    def arrive(self, part: slice = slice(None)) -> None:
        """Let the files of the streams appear, or a part of those of each."""
        for files in self._files.values():
            appear(files[part])

    def open(self, *, once: bool = True, checkpoint: bool = False, buckets: int | None = None) -> Mill:
        """A mill in which nothing is declared yet."""
        home = self.folder / "checkpoint" if checkpoint else None
        self._mill, self._declared = connect(home, base=self.folder, once=once, master="local[2]"), set()
        if buckets is not None:
            self._mill.execute(f"SET buckets = {buckets}")
        return self._mill

    def close(self) -> None:
        """Close the mill, if there is one."""
        if self._mill is not None:
            self._mill.close()

    def declare(self) -> None:
        """Make everything known that the cases name."""
        self._each(self._declare)

    def start(self, text: Callable[[Case], str]) -> None:
        """Carry out a text for each case, after what the case declares."""
        self._each(lambda case: self._start(case, text(case)))

    def finish(self, end: Callable[[RunningQuery, Case], Found | None]) -> None:
        """Bring the query of each case to its end."""
        self._each(lambda case: end(self.mill.query(case.query), case))

    def ask(self) -> None:
        """Carry out the SELECT of each case over tables."""
        self._each(self._ask)

    def collect(self, read: Callable[[Path, Case], Found]) -> None:
        """Read what each case has written below the folder."""
        self._each(lambda case: read(self.folder, case))

    def declarations(self, case: Case) -> Iterator[str]:
        """The statements that make everything known that a case names, and is not yet."""
        texts = [self.arrival.declare(one, self.as_tables) for one in case.inputs]
        texts += [_STREAM.sub("CREATE TABLE", text) if self.as_tables else text for text in case.definitions]
        for name, text in zip(case.declared, texts, strict=True):
            if name not in self._declared:
                self._declared.add(name)
                yield text

    @property
    def mill(self) -> Mill:
        """The mill, once it is open."""
        assert self._mill is not None
        return self._mill

    def _declare(self, case: Case) -> None:
        for declaration in self.declarations(case):
            self.mill.execute(declaration)

    def _start(self, case: Case, text: str) -> None:
        self._declare(case)
        self.mill.execute(text)

    def _ask(self, case: Case) -> Found:
        for declaration in self.declarations(case):
            self.mill.execute(declaration)
        table = self.mill.execute(case.select)[-1].table
        assert table is not None
        return Found(table)

    def _each(self, act: Callable[[Case], Found | None]) -> None:
        for case in self.cases:
            if not isinstance(self.outcomes.get(case.name), Exception):
                try:
                    found = act(case)
                except Exception as problem:  # whatever it is, it is told under the name of the case
                    self.outcomes[case.name] = problem
                else:
                    if found is not None:
                        self.outcomes[case.name] = found


@contextmanager
def sites(
    cases: list[Case], folder: Path, arrival: Arrival, as_tables: bool = False
) -> Iterator[tuple[list[Site], Outcomes]]:
    """The sites of cases, with their files; and where outcomes are noted. Mills are closed in the end."""
    outcomes: Outcomes = {}
    with ExitStack() as closing:
        there = []
        for number, those in enumerate(share(cases)):
            site = Site(those, folder / str(number), arrival, outcomes, as_tables)
            site.prepare()
            closing.callback(site.close)
            there.append(site)
        yield there, outcomes
