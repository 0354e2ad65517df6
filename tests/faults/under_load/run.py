"""A mill that lives several times, with what it was told and what must be there."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from millstream.mill import Mill, connect
from tests.faults.test_resume import agrees
from tests.faults.under_load.commanded import CommandedMill
from tests.faults.under_load.compare import compare
from tests.faults.under_load.kinds import DECLARATIONS, Kind
from tests.faults.under_load.load import Files, Pushes, free_port
from tests.faults.under_load.world import Statement, World, held_of

PERMANENT = """
CREATE QUERY all_fed AS SELECT id, tag FROM fed;
CREATE QUERY all_pushed AS SELECT id FROM pushed;
"""


class Run:
    """A mill that is killed again and again."""

    def __init__(self, base: Path, seed: int) -> None:
        self.base = base
        self.chance = random.Random(seed)
        self.world = World(self.chance)
        (base / "in").mkdir()
        self.port = free_port()
        self.files, self.pushes = Files(base / "in", 0.3), Pushes(self.port, 0.1)
        self.cut: Statement | None = None
        self.said: list[str] = []
        self.resumed = 0.0, 0
        """How long the last start took, and how many queries it has resumed."""

    def live(self, number: int, statements: tuple[int, int]) -> None:
        """Start the mill, say some things, and kill it in the middle of the last one, or while it starts."""
        with (self.base / "errors.txt").open("a") as errors:
            mill = CommandedMill(self.base, errors)
            timer = None
            try:
                if number and self.chance.random() < 0.2:
                    timer = mill.kill_in(self.chance.uniform(2, 15), self.chance.random() < 0.5)
                if self._begin(mill, number):
                    if timer is not None:
                        timer.cancel()
                        timer.join()
                    self._speak(mill, statements)
            finally:
                mill.kill_in(0, self.chance.random() < 0.5).join()
                mill.wait_until_gone()

    def make(self, kinds: Sequence[Sequence[Kind]], seconds: float) -> None:
        """Start the mill, make queries, those of a group in one text, and kill it a while later."""
        with (self.base / "errors.txt").open("a") as errors:
            mill = CommandedMill(self.base, errors)
            try:
                assert self._begin(mill, 0)
                for group in kinds:
                    statement = self.world.create(group)
                    mill.ask(statement.text)
                    said = mill.answer()
                    assert said is not None
                    assert "done" in said, said
                    self._settle(statement, None, said)
                time.sleep(seconds)
            finally:
                mill.kill_in(0, all_of_it=False).join()
                mill.wait_until_gone()

    def _begin(self, mill: CommandedMill, number: int) -> bool:
        if (said := mill.answer()) is None:
            self.said.append("-- killed while it started")
            return False
        assert not said["problems"], said["problems"]
        if number == 0:
            for text in (DECLARATIONS.replace("PORT", str(self.port)), PERMANENT):
                mill.ask(text)
                answer = mill.answer()
                assert answer is not None
                assert "done" in answer, answer
        else:
            self.said.append("-- started again")
            self._settle(None, self.cut, said)
            self.cut = None
        return True

    def _settle(self, done: Statement | None, cut: Statement | None, said: dict[str, Any]) -> None:
        queries = [one for one in said["queries"] if not one[0].startswith("all_")]
        found = held_of(queries, self.world.by_tag)
        self.world.settle(done, cut, found, set(said["registrations"]), self.files.count)

    def _speak(self, mill: CommandedMill, statements: tuple[int, int]) -> None:
        count, took = self.chance.randint(*statements), [1.0]
        for number in range(count):
            statement = self.world.draw()
            self.said.append(statement.text)
            begun, timer = time.monotonic(), None
            if number == count - 1:
                timer = mill.kill_in(self.chance.uniform(0, 1.5 * sum(took) / len(took)), self.chance.random() < 0.5)
            mill.ask(statement.text)
            if (said := mill.answer()) is None:
                self.said.append("-- killed")
                self.cut = statement
                return
            took.append(time.monotonic() - begun)
            assert "done" in said, said
            self._settle(statement, None, said)
            if timer is not None:
                timer.join()
                self.said.append("-- killed after it was done")
            else:
                time.sleep(self.chance.uniform(0, 0.5))

    def end(self) -> None:
        """No more rows but the last ones, which close all windows; then look at everything."""
        self.files.end()
        self.pushes.end()
        rows = self.files.count
        begun = time.monotonic()
        with connect(self.base / "home", base=self.base, master="local[2]", resumes=True) as mill:
            self.resumed = time.monotonic() - begun, len(mill.resumed.queries)
            assert mill.resumed.problems == (), mill.resumed.problems
            agrees(mill)
            said = {"queries": shown(mill), "registrations": known(mill)}
            self._settle(None, self.cut, said)
            self.files.put_last()
            self.pushes.push_last()
            for held in self.world.state.queries.values():
                if not held.runs:
                    mill.execute(f"START QUERY {held.name}")
            compare(mill, self.world, rows, self.base / "out", self.pushes)
            agrees(mill)


def shown(mill: Mill) -> list[list[str]]:
    """Name, state and text of each query."""
    table = mill.execute("SHOW QUERIES")[0].table
    assert table is not None
    return [[one["query"], one["state"], one["text"]] for one in table.to_pylist()]


def known(mill: Mill) -> list[str]:
    """The registrations that are known."""
    table = mill.execute("SHOW REGISTRATIONS")[0].table
    assert table is not None
    return [str(handle) for handle in table["handle"].to_pylist()]
